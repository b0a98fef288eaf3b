// libFuzzer target: frames that a collective's peers send, well-formed, changed and random ones, while it is
// under way. The collective ends, or waits; memory that is not the message's is not touched (the sanitizer
// sees to that), and what does not fit is an error with a message.
#include <fuzzer/FuzzedDataProvider.h>

#include <atomic>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collectives/algorithms/schedule.h"
#include "collectives/engine/engine.h"

namespace shoal {
namespace {

constexpr int kProcesses = 3;
constexpr int64_t kEagerBytes = 64, kChunk = 200;  // bytes; a chunk is a bulk

struct Frame {
  ProcessId from;
  FrameHeader header;
  std::string payload;
};

// Gives what the fuzzer has made up once the collective has been announced; what is sent goes nowhere.
class MadeUpWire : public Wire {
 public:
  MadeUpWire(std::deque<Frame> frames, bool pulls) : frames_(std::move(frames)), pulls_(pulls) {}

  const WireCapabilities& capabilities() const override { return capabilities_; }
  bool Reaches(ProcessId peer) const override { return peer != ProcessId(0); }
  bool TrySend(ProcessId, const FrameHeader&, absl::Span<const char>) override {
    announced_ = true;
    return true;
  }
  bool Poll(FrameSink* sink) override {
    if (!announced_ || frames_.empty()) return false;
    while (!frames_.empty()) {
      const Frame frame = std::move(frames_.front());
      frames_.pop_front();
      sink->OnFrame(frame.from, frame.header, frame.payload);
    }
    return true;
  }
  bool CanPull(ProcessId) const override { return pulls_; }
  absl::Status Pull(ProcessId, const FrameHeader& bulk, int64_t, absl::Span<char> into) override {
    if (bulk.bulk_id % 5 == 0) return absl::UnavailableError("retired");
    std::fill(into.begin(), into.end(), 'p');
    return absl::OkStatus();
  }

 private:
  const WireCapabilities capabilities_{"made up", kEagerBytes, false, /*rings=*/true};
  std::deque<Frame> frames_;
  const bool pulls_;
  bool announced_ = false;
};

Announcement Ours() { return {{{11, 1}, 2, 0, 0}, 5, 6, "all-reduce.2 f32[150]"}; }

CollectiveKey KeyOf(ProgramRun run, FuzzedDataProvider& input) {
  return {run, input.ConsumeIntegralInRange<int64_t>(0, 3), 0, 0};
}

// A control message as a peer sends it, some of its fields made up.
std::vector<char> Control(FuzzedDataProvider& input) {
  ProgramRun run;
  run.communicator = input.ConsumeBool() ? 11 : input.ConsumeIntegral<uint64_t>();
  run.id = input.ConsumeBool() ? 1 : input.ConsumeIntegral<int64_t>();
  std::string text = input.ConsumeRandomLengthString(20);
  switch (input.ConsumeIntegralInRange(0, 5)) {
    case 0: {
      Announcement announcement = Ours();
      announcement.key.run = run;
      if (input.ConsumeBool()) announcement.operation = 7;
      if (input.ConsumeBool()) announcement.program = 8;
      announcement.name = text;
      return Encode(announcement);
    }
    case 1:
      return Encode(
          AbortNotice{run, absl::Status(static_cast<absl::StatusCode>(input.ConsumeIntegral<int>()), text)});
    case 2:
      return Encode(Question{KeyOf(run, input), Ours().program});
    case 3:
      return Encode(Answer{{KeyOf(run, input), Ours().program},
                           input.ConsumeBool(),
                           input.ConsumeBool(),
                           input.ConsumeBool(),
                           input.ConsumeBool(),
                           input.ConsumeBool(),
                           run,
                           input.ConsumeBool(),
                           input.ConsumeBool(),
                           KeyOf(run, input),
                           text});
    case 4:
      return Encode(Hindrance{input.ConsumeIntegralInRange(-1, kProcesses), KeyOf(run, input),
                              input.ConsumeIntegralInRange(-1, kProcesses), KeyOf(run, input), text});
    default:
      return Encode(input.ConsumeBool() ? Goodbye{text, ""} : Goodbye{"", text});
  }
}

// The same, perhaps changed and cut.
std::string MangledControl(FuzzedDataProvider& input) {
  const std::vector<char> bytes = Control(input);
  std::string text(bytes.begin(), bytes.end());
  if (input.ConsumeBool() && !text.empty()) {
    text[input.ConsumeIntegralInRange<size_t>(0, text.size() - 1)] = input.ConsumeIntegral<char>();
  }
  if (input.ConsumeBool()) text.resize(input.ConsumeIntegralInRange<size_t>(0, text.size()));
  return text;
}

Frame MakeFrame(FuzzedDataProvider& input) {
  Frame frame{ProcessId(input.ConsumeIntegralInRange(1, kProcesses - 1)), {}, ""};
  FrameHeader& header = frame.header;
  header.kind = static_cast<FrameKind>(input.ConsumeIntegralInRange(0, 9));
  if (header.kind >= FrameKind::kControl) {
    frame.payload = MangledControl(input);
  } else {
    header.tag.collective = input.ConsumeBool() ? Ours().key.Hash() : input.ConsumeIntegral<uint64_t>();
    header.tag.part =
        MessageTag::Part(input.ConsumeIntegralInRange(0, 1), input.ConsumeIntegralInRange(0, 4), 0);
    header.bulk_id = input.ConsumeIntegralInRange(0, 6);
    header.bulk_size = input.ConsumeBool() ? kChunk : input.ConsumeIntegral<uint64_t>();
    header.bulk_address = input.ConsumeIntegral<uint64_t>();
    const bool fits = input.ConsumeBool();
    frame.payload = fits ? std::string(input.ConsumeIntegralInRange<size_t>(0, kChunk), 'x')
                         : input.ConsumeRandomLengthString(100);
    if (input.ConsumeBool()) {  // with what is for the engine in front
      const std::string front = MangledControl(input);
      frame.payload = front + frame.payload;
      if (header.kind == FrameKind::kEager) header.front_bytes = front.size();
    }
  }
  header.length = static_cast<uint32_t>(frame.payload.size());
  return frame;
}

Topology TopologyOfAll() {
  Topology topology;
  topology.self = ProcessId(0);
  topology.job = "fuzz";
  for (int p = 0; p < kProcesses; ++p) {
    ProcessInfo& info = topology.processes.emplace_back();
    info.host_name = "here";
    info.num_devices = 1;
    info.first_device = DeviceId(p);
  }
  return topology;
}

void RunWith(std::deque<Frame> frames, bool pulls, bool gathers) {
  LanePlan plan;
  const Seat seat{kProcesses, 0};
  plan.schedule = gathers ? RingAllGather(seat) : RingAllReduce(seat);
  plan.type = ElementType::kF32;
  for (int c = 0; c <= plan.schedule.chunks; ++c) plan.offsets.push_back(c * kChunk);
  const std::vector<LanePlan> lanes = {plan};
  std::vector<char> in(plan.offsets.back(), 'i'), out(plan.offsets.back(), 'o'),
      scratch(plan.schedule.scratch_slots * kChunk);
  std::vector<ProcessId> processes;
  for (int p = 0; p < kProcesses; ++p) processes.push_back(ProcessId(p));
  std::atomic<int> ends{0};
  {
    std::vector<std::unique_ptr<Wire>> wires;
    wires.push_back(std::make_unique<MadeUpWire>(std::move(frames), pulls));
    Engine::Handlers handlers;
    handlers.on_failed = [](ProgramRun, const absl::Status& why) {
      if (why.ok()) std::abort();
    };
    handlers.on_missed = [] {};
    handlers.stage_of = [](ProgramRun run) {
      return run.id == 1 ? RunStage::kAskedFor : run.id == 2 ? RunStage::kOver : RunStage::kNotAskedFor;
    };
    Engine engine(TopologyOfAll(), std::move(wires), nullptr, absl::Seconds(60), std::move(handlers));
    engine.NoteCaller();
    ExchangeRequest request;
    request.announcement = Ours();
    request.processes = processes;
    request.lanes = &lanes;
    request.buffers = {{{in.data(), 0}, {out.data(), 0}, {scratch.data(), 0}}};
    request.needs_all = gathers;
    request.precludes = [](const CollectiveKey& other) { return other.number != 2; };
    request.done = [&](const absl::Status&, bool) { ++ends; };
    engine.Start(std::move(request), /*stay=*/false);
  }
  if (ends != 1) std::abort();
}

}  // namespace
}  // namespace shoal

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedDataProvider input(data, size);
  const bool pulls = input.ConsumeBool(), gathers = input.ConsumeBool();
  std::deque<shoal::Frame> frames;
  while (input.remaining_bytes() > 0 && frames.size() < 40) frames.push_back(shoal::MakeFrame(input));
  shoal::RunWith(std::move(frames), pulls, gathers);
  return 0;
}

#include "collectives/engine/run.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "collectives/engine/assist.h"
#include "collectives/reduce/reduce.h"
#include "collectives/reduce/stream_copy.h"

namespace shoal {
namespace {

// Bytes of one piece of a pulled message in a reduction. All sources' pieces together should stay in the
// second-level cache; the kernel copies below 64 KiB at half the speed (measured: 16 GB/s at 64 to 256 KiB, 6
// at 4 KiB).
constexpr int64_t kPiecesBytes = 768 << 10, kSmallestPiece = 64 << 10, kLargestPiece = 256 << 10;
// Receives from here on are read in pieces too, so that workers can help.
constexpr int64_t kPiecewiseReceive = 1 << 20;

}  // namespace

int64_t LanePlan::largest_chunk() const {
  int64_t largest = 0;
  for (size_t c = 0; c + 1 < offsets.size(); ++c) largest = std::max(largest, offsets[c + 1] - offsets[c]);
  return largest;
}

// One array's schedule under way.
class Run::Lane {
 public:
  Lane(Run* run, int index)
      : run_(run),
        plan_((*run->request_.lanes)[index]),
        buffers_(run->request_.buffers[index]),
        index_(index) {}

  // Ends at once if there are no rounds.
  void Begin();
  // Runs reductions whose messages are here and goes on to the next rounds; true at the end.
  bool Advance();
  // A peer has come.
  void SendHeld(int peer);
  void AddAwaited(std::vector<bool>* ranks) const {
    for (const Pending& pending : pending_) {
      if (pending.receiving && !pending.done) (*ranks)[pending.peer] = true;
    }
    for (const Held& send : held_) (*ranks)[send.peer] = true;
  }

 private:
  struct Pending final : Completion {
    void Done(const absl::Status& status) override {
      done = true;
      if (!status.ok() && lane->run_->status_.ok()) lane->run_->status_ = status;
      if (reduction >= 0 && --lane->reductions_[reduction].missing == 0) lane->ready_.push_back(reduction);
      if (reduction < 0) --lane->unfinished_;
    }
    Lane* lane = nullptr;
    int peer = -1;
    bool receiving = false;
    bool done = false;
    int reduction = -1;  // the position in reductions_ that waits for it
  };
  // A send of large data to a peer that has not come yet.
  struct Held {
    int peer;
    MessageTag tag;
    absl::Span<const char> data;
    Pending* pending;
  };
  // A step that needs all its messages to be readable: a reduction, or a large receive.
  struct Reduction {
    const Step* step;
    std::vector<MessageView> views;  // of the operands that are messages, in their order
    int missing = 0;
  };

  char* At(const Block& block) const {
    const LaneBuffer& buffer = buffers_[block.buffer];
    if (block.buffer == kScratchBuffer) return buffer.data + block.slot * plan_.largest_chunk();
    return buffer.data + (plan_.offsets[block.first] - buffer.origin);
  }
  int64_t Size(const Block& block) const {
    return plan_.offsets[block.first + block.count] - plan_.offsets[block.first];
  }
  MessageTag Tag(int64_t index) const { return {run_->collective_, MessageTag::Part(index_, round_, index)}; }
  Pending* AddPending(int peer, bool receiving, int reduction) {
    pending_.push_back({});
    Pending& pending = pending_.back();
    pending.lane = this;
    pending.peer = peer;
    pending.receiving = receiving;
    pending.reduction = reduction;
    return &pending;
  }
  ProcessId Process(int rank) const { return run_->request_.processes[rank]; }
  bool HasNextRound() const { return round_ + 1 < static_cast<int>(plan_.schedule.rounds.size()); }
  void StartNextRound();
  void PostReceives(const std::vector<Step>& steps);
  void PostSends(const std::vector<Step>& steps);
  void RunReduction(Reduction* reduction);
  // Several threads at once, on pieces apart.
  absl::Status RunPiece(const Reduction& reduction, int64_t begin, int64_t bytes) const;

  Run* const run_;
  const LanePlan& plan_;
  const absl::Span<const LaneBuffer> buffers_;
  const int index_;
  int round_ = -1;
  int unfinished_ = 0;  // sends, receives and reductions of this round
  // As many as reserved: their addresses are with the transport.
  absl::InlinedVector<Pending, 2 * kFewRanks> pending_;
  absl::InlinedVector<Reduction, 1> reductions_;
  absl::InlinedVector<int, 1> ready_;
  std::vector<Held> held_;
};

void Run::Lane::Begin() {
  if (run_->request_.before) run_->request_.before(index_);
  if (HasNextRound()) StartNextRound();
}

void Run::Lane::StartNextRound() {
  ++round_;
  const std::vector<Step>& steps = plan_.schedule.rounds[round_];
  size_t messages = 0, reductions = 0;
  for (const Step& step : steps) {
    messages += step.kind == StepKind::kReduce ? step.operands.size() : 1;
    reductions += step.kind != StepKind::kSend;
  }
  pending_.clear();
  pending_.reserve(messages);
  reductions_.clear();
  reductions_.reserve(reductions);
  ready_.clear();
  unfinished_ = static_cast<int>(steps.size());
  // Announcements go before the answers to the peers', and so before the data that these ask for: behind
  // data, the other direction would stand still until all of it has gone.
  PostSends(steps);
  run_->transport_->Knock();
  PostReceives(steps);
}

void Run::Lane::PostReceives(const std::vector<Step>& steps) {
  absl::InlinedVector<int64_t, kFewRanks> count(run_->ranks_.size(), 0);
  Transport* transport = run_->transport_;
  for (const Step& step : steps) {
    if (step.kind == StepKind::kSend) continue;
    const int64_t size = Size(step.block);
    if (step.kind == StepKind::kReceive &&
        (size < kPiecewiseReceive || !transport->Pulls(Process(step.peer)))) {
      transport->Receive(Process(step.peer), Tag(count[step.peer]++), absl::MakeSpan(At(step.block), size),
                         AddPending(step.peer, true, -1));
      continue;
    }
    const int number = static_cast<int>(reductions_.size());
    Reduction& reduction = reductions_.emplace_back();
    reduction.step = &step;
    absl::InlinedVector<int, 16> peers;
    if (step.kind == StepKind::kReceive) peers.push_back(step.peer);
    for (const Operand& operand : step.operands) {
      if (operand.peer >= 0) peers.push_back(operand.peer);
    }
    reduction.missing = static_cast<int>(peers.size());
    reduction.views.resize(peers.size());
    if (peers.empty()) ready_.push_back(number);
    for (size_t i = 0; i < peers.size(); ++i) {
      transport->View(Process(peers[i]), Tag(count[peers[i]]++), size, &reduction.views[i],
                      AddPending(peers[i], true, number));
    }
  }
}

// Large data is pushed once its receiver is known to be there: to ask it first, and wait for its answer
// behind other data, would leave the network idle meanwhile.
void Run::Lane::PostSends(const std::vector<Step>& steps) {
  absl::InlinedVector<int64_t, kFewRanks> count(run_->ranks_.size(), 0);
  for (const Step& step : steps) {
    if (step.kind != StepKind::kSend) continue;
    const Held send{step.peer, Tag(count[step.peer]++), absl::MakeConstSpan(At(step.block), Size(step.block)),
                    AddPending(step.peer, false, -1)};
    const ProcessId to = Process(step.peer);
    RankState& rank = run_->ranks_[step.peer];
    const bool push = rank.announces && run_->transport_->CanPush(to, Size(step.block));
    if (push && !rank.announced && !run_->transport_->IsGone(to)) {
      run_->Announce(step.peer);
      held_.push_back(send);
      continue;
    }
    const bool tells = std::exchange(rank.untold, false);
    run_->transport_->Send(to, send.tag, send.data, send.pending, push,
                           tells ? absl::MakeConstSpan(run_->announcement_) : absl::Span<const char>());
  }
}

void Run::Lane::SendHeld(int peer) {
  for (const Held& send : held_) {
    if (send.peer == peer)
      run_->transport_->Send(Process(peer), send.tag, send.data, send.pending, /*push=*/true);
  }
  std::erase_if(held_, [peer](const Held& send) { return send.peer == peer; });
}

// Operands in this process's memory are used where they lie; the others are read piece by piece.
void Run::Lane::RunReduction(Reduction* reduction) {
  const int64_t size = Size(reduction->step->block);
  int64_t pulled = 0;
  for (const MessageView& view : reduction->views) pulled += view.data == nullptr;
  const int64_t piece =
      std::clamp(kPiecesBytes / std::max<int64_t>(pulled, 1), kSmallestPiece, kLargestPiece) / 256 * 256;
  std::mutex mutex;
  absl::Status first_error;  // guarded by mutex
  RunAssisted((size + piece - 1) / piece, run_->helpers_, [&](int64_t i) {
    const absl::Status status = RunPiece(*reduction, i * piece, std::min(piece, size - i * piece));
    if (status.ok()) return;
    std::lock_guard<std::mutex> lock(mutex);
    if (first_error.ok()) first_error = status;
  });
  for (MessageView& view : reduction->views) {
    if (first_error.ok()) first_error = run_->transport_->CheckRead(view);
    run_->transport_->Release(&view);
  }
  run_->transport_->Knock();
  if (run_->status_.ok()) run_->status_ = first_error;
  --unfinished_;
}

absl::Status Run::Lane::RunPiece(const Reduction& reduction, int64_t begin, int64_t bytes) const {
  const Step& step = *reduction.step;
  Transport* transport = run_->transport_;
  char* target = At(step.block) + begin;
  const bool past_caches = plan_.offsets.back() >= kPastCachesBytes;
  thread_local std::vector<char> scratch;
  scratch.resize(std::max(scratch.size(), reduction.views.size() * bytes));
  if (step.kind == StepKind::kReceive && reduction.views[0].data != nullptr) {
    (past_caches ? CopyPastCaches : CopyThroughCaches)(target, reduction.views[0].data + begin, bytes);
    return absl::OkStatus();
  }
  if (step.kind == StepKind::kReceive) {
    char* into = past_caches ? scratch.data() : target;
    const absl::Status status = transport->Read(reduction.views[0], begin, absl::MakeSpan(into, bytes));
    if (past_caches && status.ok()) CopyPastCaches(target, into, bytes);
    return status;
  }
  absl::InlinedVector<const void*, 16> sources;
  size_t view = 0;
  for (const Operand& operand : step.operands) {
    if (operand.peer < 0) {
      sources.push_back(At(operand.own) + begin);
      continue;
    }
    char* slot = scratch.data() + view * bytes;
    const MessageView& message = reduction.views[view++];
    if (message.data != nullptr) {
      sources.push_back(message.data + begin);
      continue;
    }
    const absl::Status status = transport->Read(message, begin, absl::MakeSpan(slot, bytes));
    if (!status.ok()) return status;
    sources.push_back(slot);
  }
  const int64_t width = ByteWidth(plan_.type);
  if (!past_caches) {
    Reduce(plan_.type, plan_.reduction, sources, target, bytes / width);
    return absl::OkStatus();
  }
  alignas(64) thread_local char sum[kPastCachesPiece];
  for (int64_t at = 0; at < bytes; at += kPastCachesPiece) {
    const int64_t n = std::min(kPastCachesPiece, bytes - at);
    Reduce(plan_.type, plan_.reduction, sources, sum, n / width);
    CopyPastCaches(target + at, sum, n);
    for (const void*& source : sources) source = static_cast<const char*>(source) + n;
  }
  return absl::OkStatus();
}

bool Run::Lane::Advance() {
  while (true) {
    // A reduction may write where one listed before it still reads; so they go in order of arrival, one at a
    // time.
    while (!ready_.empty() && run_->status_.ok()) {
      Reduction& reduction = reductions_[ready_.back()];
      ready_.pop_back();
      RunReduction(&reduction);
    }
    if (!run_->status_.ok()) return true;
    if (unfinished_ > 0) return false;
    if (!HasNextRound()) break;
    StartNextRound();
  }
  if (run_->request_.after) run_->request_.after(index_);
  return true;
}

Run::Run(RunRequest request, Transport* transport, int helpers)
    : request_(std::move(request)),
      transport_(transport),
      helpers_(helpers),
      collective_(request_.announcement.key.Hash()),
      announcement_(Encode(request_.announcement)),
      ranks_(request_.processes.size()) {
  for (size_t i = 0; i < request_.lanes->size(); ++i) lanes_.push_back(std::make_unique<Lane>(this, i));
}

Run::~Run() = default;

void Run::Begin() {
  for (const LanePlan& lane : *request_.lanes) {
    for (const std::vector<Step>& round : lane.schedule.rounds) {
      for (const Step& step : round) {
        if (step.kind == StepKind::kSend) {
          ranks_[step.peer].untold = true;
          if (&round == lane.schedule.rounds.data()) ranks_[step.peer].begins = true;
        }
        if (step.kind == StepKind::kReceive) ranks_[step.peer].announces = true;
        for (const Operand& operand : step.operands) {
          if (operand.peer >= 0) ranks_[operand.peer].announces = true;
        }
      }
    }
  }
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (request_.before || !ranks_[rank].begins) Announce(static_cast<int>(rank));
  }
  transport_->Knock();
  const size_t first = request_.before ? std::min<size_t>(1, lanes_.size()) : lanes_.size();
  while (begun_ < first) BeginLane();
  transport_->Knock();
  if (request_.meanwhile) request_.meanwhile();
}

void Run::BeginLane() { lanes_[begun_++]->Begin(); }

void Run::Announce(int rank) {
  if (!std::exchange(ranks_[rank].untold, false)) return;
  transport_->SendAnnouncement(request_.processes[rank], announcement_);
}

bool Run::Advance() {
  for (size_t i = 0; i < begun_; ++i) {
    if (lanes_[i] == nullptr || !lanes_[i]->Advance()) continue;
    lanes_[i] = nullptr;
    ++ended_;
  }
  if (HasMore()) BeginLane();
  return ended_ == lanes_.size() || !status_.ok();
}

bool Run::Involves(ProcessId process) const {
  return std::find(request_.processes.begin(), request_.processes.end(), process) != request_.processes.end();
}

bool Run::Accept(ProcessId peer, const Announcement& theirs) {
  const Announcement& ours = request_.announcement;
  const bool fits =
      theirs.program == ours.program && theirs.operation == ours.operation && theirs.key == ours.key;
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (request_.processes[rank] != peer || ranks_[rank].announced) continue;
    ranks_[rank].announced = true;
    for (size_t lane = 0; fits && lane < begun_; ++lane) {
      if (lanes_[lane] != nullptr) lanes_[lane]->SendHeld(static_cast<int>(rank));
    }
  }
  return fits;
}

void Run::NoteGone(ProcessId peer) {
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    for (size_t lane = 0; request_.processes[rank] == peer && lane < begun_; ++lane) {
      if (lanes_[lane] != nullptr) lanes_[lane]->SendHeld(static_cast<int>(rank));
    }
  }
}

std::vector<ProcessId> Run::Awaited(bool* all_announced) const {
  std::vector<bool> ranks(request_.processes.size(), false);
  for (const auto& lane : lanes_) {
    if (lane != nullptr) lane->AddAwaited(&ranks);
  }
  std::vector<ProcessId> silent, slow;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank]) (ranks_[rank].announced ? slow : silent).push_back(request_.processes[rank]);
  }
  *all_announced = silent.empty();
  return silent.empty() ? slow : silent;
}

}  // namespace shoal

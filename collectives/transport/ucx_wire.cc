#include "collectives/transport/ucx_wire.h"

#include <stdlib.h>

#include <mutex>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "collectives/transport/module.h"
#include "collectives/transport/packed_frame.h"
#include "collectives/transport/ucx_module/ucx_module.h"
#include "core/base/log.h"
#include "core/base/process_name.h"
#include "core/base/status.h"

namespace shoal {
namespace {

#ifndef SHOAL_UCX_MODULE_BUILD_PATH
#define SHOAL_UCX_MODULE_BUILD_PATH ""
#endif

// Frames handed to UCX and not yet gone, before we say that there is no room.
constexpr size_t kFramesUnderWay = 256;
// How long the end of the wire waits for frames to leave.
constexpr absl::Duration kLastFrames = absl::Seconds(1);
// How long after its connection broke a peer is lost: what it said last may name the cause.
constexpr absl::Duration kLastWords = absl::Milliseconds(20);

// A message's tag:
//    63 62                 40 39                                    0
//   +--+---------------------+---------------------------------------+
//   |b |       sender        |       id of the bulk; of frames 0     |   b: bulk data
//   +--+---------------------+---------------------------------------+
constexpr uint64_t kBulkBit = uint64_t{1} << 63;
constexpr int kSenderShift = 40;

uint64_t Tag(ProcessId sender) { return static_cast<uint64_t>(sender.value()) << kSenderShift; }
uint64_t BulkTag(ProcessId sender, uint64_t id) {
  return kBulkBit | Tag(sender) | (id & ((uint64_t{1} << kSenderShift) - 1));
}

// UCX would catch fatal signals, which are Python's, and patch the C library's memory calls, which only
// registered memory needs. Once: setenv is not safe beside another wire of this process, which reads them.
void SetDefaults() {
  static std::once_flag once;
  std::call_once(once, [] {
    setenv("UCX_HANDLE_ERRORS", "none", /*overwrite=*/0);
    setenv("UCX_MEM_EVENTS", "no", /*overwrite=*/0);
    if (!HasRdmaDevice()) setenv("UCX_RNDV_THRESH", "inf", /*overwrite=*/0);
  });
}

absl::StatusOr<const ShoalUcxTable*> LoadModule() {
  SetDefaults();
  return ModuleTable<ShoalUcxTable>("UCX", "libshoal_ucx.so", SHOAL_UCX_MODULE_BUILD_PATH, "ShoalUcxModule",
                                    kShoalUcxVersion);
}

}  // namespace

absl::StatusOr<std::unique_ptr<UcxWire>> UcxWire::Create(const Topology& topology, KeyValueStore* store,
                                                         absl::Duration timeout) {
  SHOAL_ASSIGN_OR_RETURN(const ShoalUcxTable* ucx, LoadModule());
  std::unique_ptr<UcxWire> wire(new UcxWire(topology, ucx));
  SHOAL_RETURN_IF_ERROR(wire->Connect(store, timeout));
  return wire;
}

absl::Status UcxWire::Connect(KeyValueStore* store, absl::Duration timeout) {
  const auto error = [this](absl::string_view what) {
    return absl::UnavailableError(absl::StrCat("UCX cannot ", what, ": ", ucx_->last_error()));
  };
  const auto key = [this](int process) { return absl::StrCat("shoal/", topology_.job, "/ucx/", process); };
  const void* address = nullptr;
  long size = 0;
  if (ucx_->open(OnBroken, this, &worker_) < 0) return error("start");
  ucx_->address(worker_, &address, &size);
  const absl::string_view bytes(static_cast<const char*>(address), size);
  SHOAL_RETURN_IF_ERROR(store->Set(key(topology_.self.value()), absl::BytesToHexString(bytes)));
  for (int p = 0; p < topology_.process_count(); ++p) {
    if (ProcessId(p) == topology_.self) continue;
    SHOAL_ASSIGN_OR_RETURN(const std::string text, store->Get(key(p), timeout));
    const std::string theirs = absl::HexStringToBytes(text);
    if (ucx_->connect(worker_, p, theirs.data()) < 0) return error(absl::StrCat("connect to process ", p));
  }
  SHOAL_LOG_AT(1) << "UCX: connected to " << topology_.process_count() - 1 << " processes";
  return absl::OkStatus();
}

UcxWire::~UcxWire() {
  if (worker_ == nullptr) return;
  bulks_.ForgetAll([this](void** request) { ucx_->cancel(worker_, request); });
  const absl::Time limit = absl::Now() + kLastFrames;
  while (!sent_.empty() && absl::Now() < limit) {
    ucx_->progress(worker_);
    FreeSentFrames();
  }
  for (Frame& frame : sent_) ucx_->cancel(worker_, &frame.request);
  for (Frame& frame : arriving_) ucx_->cancel(worker_, &frame.request);
  ucx_->close(worker_);
}

void UcxWire::OnBroken(void* self, int peer, const char* why) {
  static_cast<UcxWire*>(self)->broken_.push_back({ProcessId(peer), why, absl::Now()});
}

bool UcxWire::FreeSentFrames() {
  bool freed = false;
  while (!sent_.empty() && ucx_->test(&sent_.front().request) != 0) {
    sent_.pop_front();
    freed = true;
  }
  return freed;
}

bool UcxWire::TrySend(ProcessId to, const FrameHeader& header, absl::Span<const char> payload) {
  if (sent_.size() >= kFramesUnderWay) return false;
  Frame frame;
  PackFrame(header, payload, &frame.bytes);
  // The bytes stay where they are when the frame moves. A peer that cannot be sent to is found as broken.
  const int sent = ucx_->send(worker_, to.value(), Tag(topology_.self), frame.bytes.data(),
                              static_cast<long>(frame.bytes.size()), &frame.request);
  if (sent == 0) sent_.push_back(std::move(frame));
  return true;
}

bool UcxWire::TakeFrames(FrameSink* sink) {
  bool worked = false;
  unsigned long tag = 0;
  long bytes = 0;
  void* message = nullptr;
  while (ucx_->probe(worker_, 0, kBulkBit, &tag, &bytes, &message) > 0) {
    Frame frame{ProcessId(static_cast<int>(tag >> kSenderShift)), std::vector<char>(bytes)};
    if (ucx_->take(worker_, message, frame.bytes.data(), bytes, &frame.request) < 0) continue;
    arriving_.push_back(std::move(frame));
  }
  while (!arriving_.empty()) {
    const int state = arriving_.front().request == nullptr ? 1 : ucx_->test(&arriving_.front().request);
    if (state == 0) break;
    const Frame frame = std::move(arriving_.front());
    arriving_.pop_front();
    worked = true;
    if (state > 0) DeliverFrame(frame.from, frame.bytes, sink);
  }
  return worked;
}

void UcxWire::TellBroken(FrameSink* sink) {
  const absl::Time now = absl::Now();
  for (size_t i = 0; i < broken_.size();) {
    if (now - broken_[i].since < kLastWords) {
      ++i;
      continue;
    }
    const Broken broken = broken_[i];
    broken_.erase(broken_.begin() + static_cast<std::ptrdiff_t>(i));
    sink->OnPeerLost(broken.peer, absl::UnavailableError(
                                      absl::StrCat(ProcessName(topology_, broken.peer),
                                                   " has ended, or its connection broke: ", broken.why)));
  }
}

bool UcxWire::Poll(FrameSink* sink) {
  bool worked = ucx_->progress(worker_) != 0;
  worked = FreeSentFrames() || worked;
  worked = TakeFrames(sink) || worked;
  const auto test = [this](absl::Span<void** const> requests, absl::Span<int> states) {
    for (size_t i = 0; i < requests.size(); ++i) states[i] = ucx_->test(requests[i]);
  };
  worked = bulks_.End(sink, test, [this] { return BulkError(); }) || worked;
  if (!broken_.empty()) TellBroken(sink);
  return worked;
}

absl::Status UcxWire::BulkError() const {
  return absl::UnavailableError(absl::StrCat("bulk data over UCX: ", ucx_->last_error()));
}

// What UCX refuses, or has done already, ends at the next Poll.
void UcxWire::AddBulk(BulkList::Bulk bulk, int started, void* request) {
  if (started < 0) bulk.status = BulkError();
  if (request != nullptr) bulk.requests.push_back(request);
  bulks_.Add(std::move(bulk));
}

void UcxWire::BulkSend(ProcessId to, uint64_t bulk_id, absl::Span<const char> data) {
  void* request = nullptr;
  const int started = ucx_->send(worker_, to.value(), BulkTag(topology_.self, bulk_id), data.data(),
                                 static_cast<long>(data.size()), &request);
  AddBulk({true, to, bulk_id}, started, request);
}

void UcxWire::BulkReceive(ProcessId from, uint64_t bulk_id, absl::Span<char> into) {
  void* request = nullptr;
  const int started =
      ucx_->receive(worker_, BulkTag(from, bulk_id), into.data(), static_cast<long>(into.size()), &request);
  AddBulk({false, from, bulk_id}, started, request);
}

void UcxWire::CancelBulk(bool sending, ProcessId peer, uint64_t bulk_id) {
  bulks_.Forget(sending, peer, bulk_id, [this](void** request) { ucx_->cancel(worker_, request); });
}

void UcxWire::CancelBulkSend(uint64_t bulk_id) { CancelBulk(true, ProcessId(), bulk_id); }

void UcxWire::CancelBulkReceive(ProcessId from, uint64_t bulk_id) { CancelBulk(false, from, bulk_id); }

}  // namespace shoal

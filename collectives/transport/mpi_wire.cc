#include "collectives/transport/mpi_wire.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "collectives/transport/mpi_module/mpi_module.h"
#include "collectives/transport/packed_frame.h"
#include "collectives/transport/rdma_device.h"
#include "core/base/status.h"

namespace shoal {
namespace {

// Frames handed to MPI and not yet gone, before we say that there is no room.
constexpr size_t kFramesUnderWay = 256;
// How long the end of the wire waits for frames to leave.
constexpr absl::Duration kLastFrames = absl::Seconds(1);
// MPI counts in int.
constexpr int64_t kPieceBytes = int64_t{1} << 30;
// Without RDMA: what every MPI sends over TCP without a handshake of its own, header included, and how many
// such pieces a bulk may have.
constexpr int64_t kEagerPieceBytes = 60 << 10, kMostEagerPieces = 1024;
// Every MPI allows tags up to here. Bulks of a pair that share a tag keep their order.
constexpr int kTags = 32767;

}  // namespace

absl::Status MpiWire::CheckUsable(const Topology& topology) {
  SHOAL_ASSIGN_OR_RETURN(const Mpi* mpi, Mpi::Load());
  if (mpi->size() >= topology.process_count()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("the job has ", topology.process_count(),
                                             " processes, but MPI knows ", mpi->size(),
                                             "; start it with mpirun -n ", topology.process_count()));
}

absl::StatusOr<std::unique_ptr<MpiWire>> MpiWire::Create(const Topology& topology, KeyValueStore* store,
                                                         absl::Duration timeout) {
  SHOAL_RETURN_IF_ERROR(CheckUsable(topology));
  SHOAL_ASSIGN_OR_RETURN(Mpi * mpi, Mpi::Load());
  const auto key = [&](int process) { return absl::StrCat("shoal/", topology.job, "/mpi/", process); };
  SHOAL_RETURN_IF_ERROR(
      store->Set(key(topology.self.value()), absl::StrCat(mpi->rank(), HasRdmaDevice() ? " rdma" : "")));
  std::unique_ptr<MpiWire> wire(new MpiWire(mpi));
  wire->processes_.resize(mpi->size(), ProcessId(-1));
  for (int p = 0; p < topology.process_count(); ++p) {
    int rank = -1;
    SHOAL_ASSIGN_OR_RETURN(const std::string text, store->Get(key(p), timeout));
    absl::string_view number = text;
    if (absl::ConsumeSuffix(&number, " rdma")) wire->all_eager_ = false;  // both ends must cut alike
    if (!absl::SimpleAtoi(number, &rank) || rank < 0 || rank >= mpi->size()) {
      return absl::InternalError(absl::StrCat("the store holds no MPI rank of process ", p, ": ", text));
    }
    wire->processes_[rank] = ProcessId(p);
    wire->ranks_.push_back(ProcessId(p) == topology.self ? -1 : rank);
  }
  return wire;
}

MpiWire::~MpiWire() {
  bulks_.ForgetAll(mpi_->table().cancel);
  // Frames that nobody takes any more, for their receiver has failed: their memory stays MPI's.
  const absl::Time limit = absl::Now() + kLastFrames;
  while (!sent_.empty() && absl::Now() < limit) FreeSentFrames();
  if (!sent_.empty()) new std::deque<SentFrame>(std::move(sent_));
  if (!arriving_.empty()) new std::deque<ArrivingFrame>(std::move(arriving_));
}

void MpiWire::FreeSentFrames() {
  while (!sent_.empty() && mpi_->table().test(&sent_.front().request) != 0) {
    spare_.push_back(std::move(sent_.front()));
    sent_.pop_front();
  }
}

absl::Status MpiWire::Error(absl::string_view what) const {
  return absl::UnavailableError(absl::StrCat(what, ": ", mpi_->table().last_error()));
}

bool MpiWire::TrySend(ProcessId to, const FrameHeader& header, absl::Span<const char> payload) {
  if (sent_.size() >= kFramesUnderWay) return false;
  SentFrame frame;
  if (!spare_.empty()) {
    frame = std::move(spare_.back());
    spare_.pop_back();
  }
  PackFrame(header, payload, &frame.bytes);
  const int sent = mpi_->table().send_frame(frame.bytes.data(), static_cast<long>(frame.bytes.size()),
                                            ranks_[to.value()], &frame.request);
  // A peer that cannot be sent to is found by its silence.
  if (sent > 0) sent_.push_back(std::move(frame));
  return true;
}

// In the order of each sender. A frame whose sender has died meanwhile may never be whole: nobody waits for
// it.
bool MpiWire::TakeFrames(FrameSink* sink) {
  bool worked = false;
  const ShoalMpiTable& mpi = mpi_->table();
  int rank = 0;
  long bytes = 0;
  while (mpi.probe_frame(&rank, &bytes) > 0) {
    worked = true;
    ArrivingFrame frame{processes_[rank], std::vector<char>(bytes)};
    if (mpi.take_frame(frame.bytes.data(), bytes, &frame.request) >= 0) arriving_.push_back(std::move(frame));
  }
  for (auto frame = arriving_.begin(); frame != arriving_.end();) {
    const bool behind = std::any_of(
        arriving_.begin(), frame, [&](const ArrivingFrame& earlier) { return earlier.from == frame->from; });
    const int state = behind ? 0 : frame->request == nullptr ? 1 : mpi.test(&frame->request);
    if (state == 0) {
      ++frame;
      continue;
    }
    worked = true;
    if (state > 0) DeliverFrame(frame->from, frame->bytes, sink);
    frame = arriving_.erase(frame);
  }
  return worked;
}

bool MpiWire::Poll(FrameSink* sink) {
  const ShoalMpiTable& mpi = mpi_->table();
  FreeSentFrames();
  const bool worked = TakeFrames(sink);
  const auto test = [&mpi](absl::Span<void** const> requests, absl::Span<int> states) {
    const int tested = mpi.test_some(requests.data(), static_cast<int>(requests.size()), states.data());
    if (tested < 0) std::fill(states.begin(), states.end(), -1);
  };
  return bulks_.End(sink, test, [&] { return Error("bulk data over MPI"); }) || worked;
}

void MpiWire::BulkSend(ProcessId to, uint64_t bulk_id, absl::Span<const char> data) {
  StartBulk(true, to, bulk_id, const_cast<char*>(data.data()), static_cast<int64_t>(data.size()));
}

void MpiWire::BulkReceive(ProcessId from, uint64_t bulk_id, absl::Span<char> into) {
  StartBulk(false, from, bulk_id, into.data(), static_cast<int64_t>(into.size()));
}

// A piece that MPI refuses ends the bulk with an error at the next Poll.
void MpiWire::StartBulk(bool sending, ProcessId peer, uint64_t bulk_id, char* data, int64_t size) {
  BulkList::Bulk bulk{sending, peer, bulk_id};
  const int tag = static_cast<int>(bulk_id % kTags), rank = ranks_[peer.value()];
  const bool eager = all_eager_ && size <= kMostEagerPieces * kEagerPieceBytes;
  const int64_t piece = eager ? kEagerPieceBytes : kPieceBytes;
  for (int64_t offset = 0; offset < size && bulk.status.ok(); offset += piece) {
    const long bytes = static_cast<long>(std::min(piece, size - offset));
    void* request = nullptr;
    const int started = sending ? mpi_->table().send(data + offset, bytes, rank, tag, &request)
                                : mpi_->table().receive(data + offset, bytes, rank, tag, &request);
    if (started < 0) {
      bulk.status = Error("bulk data over MPI");
    } else {
      bulk.requests.push_back(request);
    }
  }
  bulks_.Add(std::move(bulk));
}

void MpiWire::CancelBulkSend(uint64_t bulk_id) {
  bulks_.Forget(true, ProcessId(), bulk_id, mpi_->table().cancel);
}

void MpiWire::CancelBulkReceive(ProcessId from, uint64_t bulk_id) {
  bulks_.Forget(false, from, bulk_id, mpi_->table().cancel);
}

}  // namespace shoal

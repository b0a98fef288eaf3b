// The wire over MPI, for processes of different hosts (and of one where shared memory is off). Frames go over
// one communicator of ours, bulk data over another, straight between the users' buffers. It must be polled.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "collectives/transport/bulk_list.h"
#include "collectives/transport/mpi.h"
#include "collectives/transport/rdma_device.h"
#include "collectives/transport/wire.h"
#include "core/base/key_value_store.h"
#include "core/base/topology.h"

namespace shoal {

class MpiWire : public Wire {
 public:
  // Collective over all processes of the job; learns their MPI ranks from the store.
  static absl::StatusOr<std::unique_ptr<MpiWire>> Create(const Topology& topology, KeyValueStore* store,
                                                         absl::Duration timeout);
  // Whether MPI is there and knows all processes; not OK alike in all of them. May start MPI.
  static absl::Status CheckUsable(const Topology& topology);
  ~MpiWire() override;

  const WireCapabilities& capabilities() const override { return capabilities_; }
  bool Reaches(ProcessId peer) const override { return ranks_[peer.value()] >= 0; }
  bool TrySend(ProcessId to, const FrameHeader& header, absl::Span<const char> payload) override;
  bool Poll(FrameSink* sink) override;
  void BulkSend(ProcessId to, uint64_t bulk_id, absl::Span<const char> data) override;
  void BulkReceive(ProcessId from, uint64_t bulk_id, absl::Span<char> into) override;
  void CancelBulkSend(uint64_t bulk_id) override;
  void CancelBulkReceive(ProcessId from, uint64_t bulk_id) override;

 private:
  struct SentFrame {
    std::vector<char> bytes;
    void* request = nullptr;
  };
  struct ArrivingFrame {
    ProcessId from;
    std::vector<char> bytes;
    void* request = nullptr;  // null once it is here
  };

  explicit MpiWire(const Mpi* mpi) : mpi_(mpi) {}
  void FreeSentFrames();
  bool TakeFrames(FrameSink* sink);
  void StartBulk(bool sending, ProcessId peer, uint64_t bulk_id, char* data, int64_t size);
  absl::Status Error(absl::string_view what) const;

  const Mpi* const mpi_;
  const WireCapabilities capabilities_{"MPI", 16 << 10, /*bulk_channel=*/true, /*rings=*/false,
                                       /*pushes=*/!HasRdmaDevice()};
  std::vector<int> ranks_;            // MPI rank by process; -1 for self
  std::vector<ProcessId> processes_;  // by MPI rank
  bool all_eager_ = true;             // no process of the job has RDMA (rdma_device.h)
  std::deque<SentFrame> sent_;        // not yet taken by MPI
  std::vector<SentFrame> spare_;
  std::deque<ArrivingFrame> arriving_;  // under way, or behind one of the same sender that is
  BulkList bulks_;
};

}  // namespace shoal

// The wire over UCX, for processes of different hosts (and of one where shared memory is off) that no mpirun
// has started: workers find one another by addresses in the store. Frames and bulk data are tagged messages,
// bulk data straight between the users' buffers. It must be polled. A broken connection is a lost peer.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "collectives/transport/bulk_list.h"
#include "collectives/transport/rdma_device.h"
#include "collectives/transport/wire.h"
#include "core/base/key_value_store.h"
#include "core/base/topology.h"

struct ShoalUcxTable;

namespace shoal {

class UcxWire : public Wire {
 public:
  // Waits until all processes of the job have come here too.
  static absl::StatusOr<std::unique_ptr<UcxWire>> Create(const Topology& topology, KeyValueStore* store,
                                                         absl::Duration timeout);
  ~UcxWire() override;

  const WireCapabilities& capabilities() const override { return capabilities_; }
  bool Reaches(ProcessId peer) const override { return peer != topology_.self; }
  bool TrySend(ProcessId to, const FrameHeader& header, absl::Span<const char> payload) override;
  bool Poll(FrameSink* sink) override;
  void BulkSend(ProcessId to, uint64_t bulk_id, absl::Span<const char> data) override;
  void BulkReceive(ProcessId from, uint64_t bulk_id, absl::Span<char> into) override;
  void CancelBulkSend(uint64_t bulk_id) override;
  void CancelBulkReceive(ProcessId from, uint64_t bulk_id) override;

 private:
  struct Frame {
    ProcessId from;           // of one that arrives
    std::vector<char> bytes;  // header and payload
    void* request = nullptr;
  };

  UcxWire(const Topology& topology, const ShoalUcxTable* ucx) : topology_(topology), ucx_(ucx) {}
  absl::Status Connect(KeyValueStore* store, absl::Duration timeout);
  static void OnBroken(void* self, int peer, const char* why);
  bool FreeSentFrames();
  bool TakeFrames(FrameSink* sink);
  void TellBroken(FrameSink* sink);
  void AddBulk(BulkList::Bulk bulk, int started, void* request);
  void CancelBulk(bool sending, ProcessId peer, uint64_t bulk_id);
  absl::Status BulkError() const;

  const Topology topology_;
  const ShoalUcxTable* const ucx_;
  void* worker_ = nullptr;
  const WireCapabilities capabilities_{"UCX", 16 << 10, /*bulk_channel=*/true, /*rings=*/false,
                                       /*pushes=*/!HasRdmaDevice()};
  std::deque<Frame> sent_;      // not yet gone
  std::deque<Frame> arriving_;  // in their order
  BulkList bulks_;
  struct Broken {  // and not told yet
    ProcessId peer;
    std::string why;
    absl::Time since;
  };
  std::vector<Broken> broken_;
};

}  // namespace shoal

// The wire between processes of one host: a shared segment a process, with its doorbell and a ring from every
// other process; large data is read straight from the sender's memory: in place where it lies in pages that
// this process has mapped (core/memory/shared_pages.h), else by process_vm_readv where the kernel allows it.
//
// The segment is a memfd, which peers open through /proc/<pid>/fd: it has no name, so nothing can be left in
// /dev/shm after a crash, and containers' small /dev/shm does not limit it. A process publishes "pid fd nonce
// address" in the store, and "fd base size" of its shared pages if it has any; a peer knows by the nonce that
// it has opened the right segment, and reads `address` in the other's memory to learn whether single-copy
// reads are permitted.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "collectives/transport/doorbell.h"
#include "collectives/transport/wire.h"
#include "core/base/key_value_store.h"
#include "core/base/topology.h"

namespace shoal {

class ShmWire : public Wire {
 public:
  // Waits until all processes of this host have come here too. `single_copy` false never reads a peer's
  // memory.
  static absl::StatusOr<std::unique_ptr<ShmWire>> Create(const Topology& topology, KeyValueStore* store,
                                                         absl::Duration timeout, bool single_copy = true);
  ~ShmWire() override;

  // Rung by peers, and by whoever else wants to wake the owner of progress. Lives as long as the wire.
  Doorbell* doorbell() const;

  const WireCapabilities& capabilities() const override { return capabilities_; }
  bool Reaches(ProcessId peer) const override;
  bool TrySend(ProcessId to, const FrameHeader& header, absl::Span<const char> payload) override;
  void Knock() override;
  void Retire(uint64_t bulk_id) override;
  bool Poll(FrameSink* sink) override;
  void FindLostPeers(FrameSink* sink) override;
  bool CanPull(ProcessId from) const override;
  absl::Status Pull(ProcessId from, const FrameHeader& bulk, int64_t offset, absl::Span<char> into) override;
  const char* Mapped(ProcessId from, const FrameHeader& bulk) const override;
  absl::Status StillOffered(ProcessId from, const FrameHeader& bulk) const override;

 private:
  struct Segment;
  struct Peer;
  ShmWire(const Topology& topology, int segment_fd, Segment* own, int64_t segment_bytes);
  absl::Status Connect(ProcessId process, KeyValueStore* store, absl::Duration timeout, bool single_copy);
  void MapArrays(absl::Span<const std::string> words, Peer* peer) const;
  Peer* PeerOf(ProcessId peer) const;

  const Topology topology_;
  const int segment_fd_;
  Segment* const own_;
  const int64_t segment_bytes_;
  int64_t ring_bytes_ = 0;
  WireCapabilities capabilities_;
  std::vector<std::unique_ptr<Peer>> peers_;  // of this host, self left out
  std::vector<Peer*> by_process_;             // null for self and other hosts
  std::vector<Peer*> to_knock_;               // have frames that they may not know of
};

}  // namespace shoal

// The CollectiveWorld over given wires: what CollectiveWorld::Create makes, and tests make over wires of
// their own.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "collectives/communicator/collective_world.h"
#include "collectives/communicator/group_communicator.h"
#include "collectives/engine/engine.h"
#include "collectives/transport/doorbell.h"
#include "collectives/transport/wire.h"

namespace shoal {

class WiredWorld : public CollectiveWorld {
 public:
  // `doorbell` belongs to one of the wires, or outlives the world; null if no wire rings. No wires: one
  // process.
  WiredWorld(const Topology& topology, std::vector<std::unique_ptr<Wire>> wires, Doorbell* doorbell,
             const CollectiveOptions& options);
  ~WiredWorld() override;

  absl::StatusOr<std::shared_ptr<Communicator>> GetCommunicator(
      absl::Span<const DeviceId> assignment) override;
  absl::StatusOr<std::shared_ptr<Communicator>> GetCommunicatorWith(absl::Span<const DeviceId> assignment,
                                                                    absl::string_view algorithms) override;
  void ProcessFailed(ProcessId process, const absl::Status& why) override;
  bool Leave(absl::string_view why, absl::Duration wait) override;
  absl::Status Health() const override;

 private:
  std::vector<std::shared_ptr<GroupCommunicator>> Communicators();
  GroupCommunicator::Options OptionsWith(absl::string_view algorithms) const;
  std::shared_ptr<GroupCommunicator> Find(uint64_t communicator);
  absl::StatusOr<std::shared_ptr<Communicator>> Register(absl::Span<const DeviceId> assignment,
                                                         GroupCommunicator::Options options);
  void RunFailed(ProgramRun run, const absl::Status& why);
  void Watch();

  const Topology topology_;
  const CollectiveOptions options_;
  const std::shared_ptr<Allocator> staging_;
  std::mutex mutex_;
  // By id; guarded by mutex_.
  absl::flat_hash_map<uint64_t, std::shared_ptr<GroupCommunicator>> communicators_;
  // Of a job of one process, whose devices may wait for each other all the same.
  std::thread watch_;
  std::condition_variable ends_;
  bool has_ended_ = false;          // guarded by mutex_
  std::unique_ptr<Engine> engine_;  // null in a job of one process; its thread ends before the rest goes
};

}  // namespace shoal

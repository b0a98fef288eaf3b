// GroupCommunicator: the Communicator of one device assignment. Participants of this process meet by pointer:
// arrivals are counted, nobody waits, and the last one to come carries on for all: by pointer if the group
// lives here, through the engine otherwise. Thread-safe; no lock is held while calling out.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "collectives/communicator/asked_runs.h"
#include "collectives/communicator/group_plan.h"
#include "collectives/engine/engine.h"
#include "core/base/topology.h"
#include "core/memory/allocator.h"
#include "core/runtime/communicator.h"
#include "core/tasks/future.h"

namespace shoal {

class GroupCommunicator : public Communicator, public std::enable_shared_from_this<GroupCommunicator> {
 public:
  struct Options {
    absl::Duration timeout;
    bool deterministic = false;
    std::string algorithms;  // SelectAlgorithm's wishes
    std::shared_ptr<const AlgorithmTable> table = nullptr;
    std::shared_ptr<Allocator> staging;  // memory to pack data in
    int workers = 1;                     // of the arena, that copies and reductions may use
    bool own_name = false;               // apart from that of the same assignment with other algorithms
  };
  // `engine` is null in a job of one process; else it outlives all calls.
  GroupCommunicator(std::vector<DeviceId> assignment, const Topology& topology, Engine* engine,
                    Options options);

  Future Start(const CollectiveOp& op, const CollectiveCall& call) override;
  void Expect(RunId run) override;
  void Ended(RunId run, PartitionId partition) override;
  void Abort(RunId run, const absl::Status& why) override;
  absl::Status Health() const override;

  // The same in every process for the same assignment; the engine's name for this communicator.
  uint64_t id() const { return id_; }
  // The run has failed elsewhere: what waits for local participants fails, and what comes later.
  void RunFailed(int64_t run, const absl::Status& why);
  RunStage StageOf(int64_t run);
  // Meetings of the run that not all participants here have come to.
  std::vector<Gathering> GatheringsOf(const Question& question);
  // This process has been stopped for so long.
  void Excuse(absl::Duration stopped);
  // Fails meetings that a local participant has not come to in time.
  void CheckMeetings(absl::Time now);
  // Fails runs whose participants in this process wait for each other in different collectives, or for one
  // that has ended.
  void CheckDivergence(absl::Time now);

 private:
  struct Group;    // of an operation, with its plans
  struct Planned;  // an operation
  struct Meeting;  // one execution, while participants come
  struct FailedRun {
    int64_t run;
    absl::Status why;
  };
  struct EndedRun {
    int64_t run;
    PartitionId partition;
    friend bool operator==(const EndedRun&, const EndedRun&) = default;
  };

  absl::StatusOr<std::shared_ptr<Planned>> PlannedFor(const CollectiveOp& op);
  absl::StatusOr<std::shared_ptr<Planned>> MakePlanned(const CollectiveOp& op) const;
  absl::Status CheckCall(const CollectiveOp& op, const CollectiveCall& call) const;
  absl::Status FailureOf(int64_t run) const;                           // REQUIRES: mutex_ held
  bool HasEnded(int64_t run, PartitionId partition) const;             // REQUIRES: mutex_ held
  bool MissesEnded(const Meeting& meeting) const;                      // REQUIRES: mutex_ held
  std::string WhoWaits(const Meeting& meeting, absl::Time now) const;  // REQUIRES: mutex_ held
  std::vector<CollectiveKey> Hindered(const Meeting& by, const Question& question) const;  // the same
  void Carry(std::shared_ptr<Meeting> meeting);
  void CarryBetweenProcesses(std::shared_ptr<Meeting> meeting);
  std::string NameOf(const Meeting& meeting) const;

  const std::vector<DeviceId> assignment_;
  const Topology topology_;
  Engine* const engine_;
  const Options options_;
  const uint64_t id_;
  std::vector<PartitionId> local_;  // of this process

  std::mutex mutex_;
  // By program, number and kind. Guarded by mutex_.
  absl::flat_hash_map<std::pair<uint64_t, int64_t>, std::shared_ptr<Planned>> planned_;
  absl::flat_hash_map<CollectiveKey, std::shared_ptr<Meeting>> meetings_;  // guarded by mutex_
  std::vector<FailedRun> failed_;                                          // the last ones; guarded by mutex_
  AskedRuns asked_;                                                        // guarded by mutex_
  // The last ones, of programs that may pass over collectives. Guarded by mutex_.
  std::deque<EndedRun> ended_;
};

}  // namespace shoal

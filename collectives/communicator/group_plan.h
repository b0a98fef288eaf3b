// GroupPlan: what one process does for one group of a collective operation, as a value: copies and reductions
// by pointer among its own members (`before`), schedules over the processes (`lanes`), copies that these need
// not wait for (`meanwhile`), and copies again (`after`). Between hosts most of that is of each lane
// (`work`), so that one lane's data is on the network while the next one's is worked on. Fixed for all
// executions; made by arithmetic from the operation, the group and who lives where.
//
// Where data of several members goes between processes it is packed by process: parts in the order of
// (process, rank). The packing is skipped where the users' arrays have that order already.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "collectives/algorithms/table.h"
#include "collectives/communicator/group_view.h"
#include "collectives/communicator/memory_jobs.h"
#include "collectives/engine/exchange.h"
#include "core/runtime/communicator.h"

namespace shoal {

// A ScheduleBuffer of a lane.
struct LaneMemory {
  MemoryRef base;
  int64_t origin = 0;
};

// What is done by pointer for one lane.
struct LaneWork {
  std::vector<Phase> before, after;
};

struct GroupPlan {
  std::vector<int64_t> staging_bytes;
  std::vector<Phase> before, meanwhile, after;
  std::vector<LanePlan> lanes;                  // empty if all members are in this process
  std::vector<std::vector<LaneMemory>> memory;  // of each lane
  std::vector<LaneWork> work;                   // of each lane; empty if none has any
};

struct PlanOptions {
  bool aliased = false;        // some member's output is its input's memory
  bool deterministic = false;  // reduce in the order of ranks, whoever hosts them
  std::string algorithms;      // SelectAlgorithm's wishes
  const AlgorithmTable* table = nullptr;
};

// InvalidArgument if the operation makes no sense (a reduction of that type, counts that do not divide).
absl::StatusOr<GroupPlan> PlanGroup(const CollectiveOp& op, const GroupView& group,
                                    const PlanOptions& options);

}  // namespace shoal

// GroupPlan: what one process does for one group of a collective operation, as a value: copies and reductions
// by pointer among its own members (`before`), schedules over the processes (`lanes`), copies that these need
// not wait for (`meanwhile`), and copies again (`after`). Between hosts most of that is of each lane
// (`work`), so that one lane's data is on the network while the next one's is worked on. Fixed for all
// executions; made by arithmetic from the operation, the group and who lives where.
//
// Where data of several members goes between processes it is packed by process: parts in the order of
// (process, rank). The packing is skipped where the users' arrays have that order already.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "collectives/algorithms/table.h"
#include "collectives/communicator/memory_jobs.h"
#include "collectives/engine/exchange.h"
#include "core/base/ids.h"
#include "core/base/topology.h"
#include "core/runtime/communicator.h"

namespace shoal {

// A group of partitions, seen from one process.
struct GroupView {
  std::vector<PartitionId> partitions;  // by rank
  std::vector<ProcessId> processes;     // that have members, by first appearance; process ranks count in it
  std::vector<int> process_of;          // process rank, by rank
  std::vector<int> local_ranks;         // ranks of this process's members, ascending; "member" counts in it
  std::vector<int> host_of;             // by process rank: hosts counted by first appearance
  int self = 0;                         // this process's rank

  GroupView(std::vector<PartitionId> members, absl::Span<const DeviceId> assignment,
            const Topology& topology);
  int ranks() const { return static_cast<int>(partitions.size()); }
  int hosts() const { return *std::max_element(host_of.begin(), host_of.end()) + 1; }
  int members() const { return static_cast<int>(local_ranks.size()); }
};

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

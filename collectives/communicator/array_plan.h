// ArrayPlan: one array's part of a GroupPlan while it is made. It has names for the members' memory, makes
// schedules among the processes, and cuts what these move, with the work by pointer that goes before and
// after, into lanes. What a kind of collective does is a function that fills one; each has a file.
//
// "Packed" is in the order of (process, rank).
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "collectives/algorithms/schedule.h"
#include "collectives/communicator/group_plan.h"
#include "collectives/communicator/group_view.h"
#include "collectives/communicator/memory_jobs.h"
#include "collectives/communicator/placed_work.h"
#include "core/runtime/communicator.h"

namespace shoal {

struct ArrayPlan {
  // All outlive it. `index` is the array's among those of the operation.
  ArrayPlan(const CollectiveOp& op, int index, const GroupView& group, const PlanOptions& options,
            GroupPlan* whole);

  const CollectiveOp& op;
  const int index;
  const CollectiveArray& array;
  const GroupView& group;
  const PlanOptions& options;
  GroupPlan* const whole;
  const int64_t width;  // bytes of an element
  const int64_t bytes;  // of the array's `elements`
  const int ranks, members;
  std::vector<MemoryRef> inputs, outputs;  // by member
  // Phases by pointer before and after the lanes, which AddLane cuts up with these.
  std::vector<PlacedWork> before, after;

  MemoryRef Staging(int64_t size);
  // Part `rank` of a row-major [outer, ranks, block].
  Rows Part(MemoryRef memory, const Blocks& blocks, int rank) const;
  // Whether an array laid out as `blocks` is packed already.
  bool IsPacked(const Blocks& blocks) const { return blocks.outer <= 1 && group.is_packed(); }
  int64_t PackedAt(int rank) const { return group.packed_of[rank] * bytes; }
  bool HasOneProcess() const { return group.processes.size() == 1; }
  ReduceJob ReduceOf(std::vector<Rows> sources, std::vector<Rows> targets, int64_t size) const {
    return {array.type, op.reduction, std::move(sources), std::move(targets), size};
  }
  PlacedWork CopiesToOtherMembers(int64_t size) const;

  // Whole phases, that no lane has a part of.
  Phase& Before() { return whole->before.emplace_back(); }
  Phase& Meanwhile() { return whole->meanwhile.emplace_back(); }

  // By the algorithm that is chosen for data of `size` bytes.
  Schedule Build(CollectiveKind kind, int64_t size, int root = 0) const;
  // Offsets of chunks: nearly equal ones; those of which chunk j is the parts of process j's members; and
  // those of which it is a part for every pair of a member here and one there.
  std::vector<int64_t> EvenOffsets(int64_t elements, int chunks) const;
  std::vector<int64_t> PackedOffsets(int64_t part_bytes) const;
  std::vector<int64_t> ExchangeOffsets(int64_t part_bytes) const;
  // Adds the schedule, on chunks at `offsets` of buffers in `memory`, as one lane or, between hosts, several.
  void AddLane(const Schedule& schedule, const std::vector<int64_t>& offsets,
               const std::vector<LaneMemory>& memory);
};

// reduction_plan.cc
void PlanAllReduce(ArrayPlan* plan);
void PlanReduceScatter(ArrayPlan* plan);
// all_gather_plan.cc
void PlanAllGather(ArrayPlan* plan);
// all_to_all_plan.cc. InvalidArgument where the elements do not divide among the ranks.
absl::Status PlanAllToAll(ArrayPlan* plan);
// permute_plan.cc
void PlanPermute(ArrayPlan* plan);
// broadcast_plan.cc
void PlanBroadcast(ArrayPlan* plan);

}  // namespace shoal

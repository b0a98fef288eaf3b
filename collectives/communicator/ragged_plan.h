// The GroupPlan of one execution of a ragged all-to-all, whose sizes are known when all local members have
// come.
#pragma once

#include "absl/status/statusor.h"
#include "collectives/communicator/group_plan.h"

namespace shoal {

// `inputs` of each local member, by array: the six of CollectiveArray's ragged all-to-all. InvalidArgument if
// a range lies outside its array, or members of this process expect other sizes than are sent.
absl::StatusOr<GroupPlan> PlanRagged(const CollectiveOp& op, const GroupView& group,
                                     absl::Span<const void* const* const> inputs);

}  // namespace shoal

#include "collectives/communicator/group_plan.h"

#include "absl/strings/str_cat.h"
#include "collectives/communicator/array_plan.h"
#include "collectives/reduce/reduce.h"
#include "core/base/status.h"

namespace shoal {
namespace {

absl::Status PlanArray(CollectiveKind kind, ArrayPlan* plan) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      SHOAL_RETURN_IF_ERROR(CheckReduction(plan->array.type, plan->op.reduction));
      PlanAllReduce(plan);
      return absl::OkStatus();
    case CollectiveKind::kReduceScatter:
      SHOAL_RETURN_IF_ERROR(CheckReduction(plan->array.type, plan->op.reduction));
      PlanReduceScatter(plan);
      return absl::OkStatus();
    case CollectiveKind::kAllGather:
      PlanAllGather(plan);
      return absl::OkStatus();
    case CollectiveKind::kAllToAll:
      return PlanAllToAll(plan);
    case CollectiveKind::kRaggedAllToAll:  // planned when the sizes are known (ragged_plan.h)
      return absl::OkStatus();
    case CollectiveKind::kCollectivePermute:
      PlanPermute(plan);
      return absl::OkStatus();
    case CollectiveKind::kCollectiveBroadcast:
      PlanBroadcast(plan);
      return absl::OkStatus();
  }
  return absl::UnimplementedError(absl::StrCat("collective kind ", static_cast<int>(kind)));
}

}  // namespace

absl::StatusOr<GroupPlan> PlanGroup(const CollectiveOp& op, const GroupView& group,
                                    const PlanOptions& options) {
  GroupPlan whole;
  for (size_t index = 0; index < op.arrays.size(); ++index) {
    ArrayPlan plan(op, static_cast<int>(index), group, options, &whole);
    SHOAL_RETURN_IF_ERROR(PlanArray(op.kind, &plan));
  }
  return whole;
}

}  // namespace shoal

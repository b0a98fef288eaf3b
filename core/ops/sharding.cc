// manual-computation, reshard, sharding-constraint: what the partitioner consumes.
#include "core/ops/op_check.h"

namespace shoal {

template <>
absl::StatusOr<Shape> InferFamilyShape<OpFamily::kShardingFamily>(const OpView& op) {
  if (op.opcode != Opcode::kManualComputation) return op.shape(0);
  // The body sees local shapes; sharding/partition checks how they follow from the global ones.
  SHOAL_RETURN_IF_ERROR(CheckWanted(op, /*array=*/false));
  SHOAL_OP_CHECK(op, "H1", static_cast<int64_t>(op.called[0]->parameters().size()) == op.operand_count(), "%",
                 op.called[0]->name(), " has ", op.called[0]->parameters().size(), " parameters");
  return *op.wanted;
}

}  // namespace shoal

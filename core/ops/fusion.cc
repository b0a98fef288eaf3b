// fusion: what its computation gives.
#include "core/ops/op_check.h"

namespace shoal {

template <>
absl::StatusOr<Shape> InferFamilyShape<OpFamily::kFusionFamily>(const OpView& op) {
  SHOAL_OP_CHECK(op, "H1", op.called[0]->root() != nullptr, "%", op.called[0]->name(), " has no root");
  std::vector<Shape> operands;
  for (int64_t i = 0; i < op.operand_count(); ++i) operands.push_back(op.shape(i));
  const Shape& result = op.called[0]->root()->shape();
  SHOAL_RETURN_IF_ERROR(CheckSignature(op, "H1", 0, operands, result));
  return result;
}

}  // namespace shoal

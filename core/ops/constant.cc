// constant, iota.
#include "core/ops/op_check.h"

namespace shoal {

template <>
absl::StatusOr<Shape> InferFamilyShape<OpFamily::kConstantFamily>(const OpView& op) {
  if (op.opcode == Opcode::kConstant) return op.attributes_as<ConstantAttributes>().value.shape();
  SHOAL_RETURN_IF_ERROR(CheckWanted(op));
  const IntVector& dimensions = op.attributes_as<DimensionsAttributes>().dimensions;
  SHOAL_OP_CHECK(op, "C1", dimensions.size() == 1 && InRange(dimensions, op.wanted->rank()), "dimension ",
                 ListText(dimensions), " is not one of the result's");
  SHOAL_OP_CHECK(op, "O1", op.wanted->element_type() != ElementType::kPred, "is not defined for pred");
  return *op.wanted;
}

}  // namespace shoal

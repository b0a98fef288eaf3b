// custom-call, infeed, outfeed: as they say of themselves.
#include "core/ops/op_check.h"

namespace shoal {

template <>
absl::StatusOr<Shape> InferFamilyShape<OpFamily::kCustomCallFamily>(const OpView& op) {
  if (op.opcode == Opcode::kOutfeed) {
    SHOAL_OP_CHECK(op, "I2", op.shape(1).IsToken(), "operand 1 is not a token");
    return Shape::Token();
  }
  SHOAL_RETURN_IF_ERROR(CheckWanted(op, /*array=*/false));
  if (op.opcode == Opcode::kInfeed) {
    SHOAL_OP_CHECK(op, "I1", op.shape(0).IsToken(), "the operand is not a token");
    const Shape& result = *op.wanted;
    SHOAL_OP_CHECK(op, "C3",
                   result.IsTuple() && !result.elements().empty() && result.elements().back().IsToken(),
                   "the last result is not a token");
  }
  return *op.wanted;
}

}  // namespace shoal

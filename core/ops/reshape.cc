// bitcast, broadcast, reshape, transpose. Labels of broadcast are those of broadcast_in_dim.
#include "core/ops/op_check.h"

namespace shoal {
namespace {

absl::StatusOr<Shape> BroadcastShape(const OpView& op) {
  SHOAL_RETURN_IF_ERROR(CheckWanted(op));
  const Shape &operand = op.shape(0), &result = *op.wanted;
  const IntVector& dimensions = op.attributes_as<DimensionsAttributes>().dimensions;
  SHOAL_OP_CHECK(op, "C1", operand.element_type() == result.element_type(), "element types differ");
  SHOAL_OP_CHECK(op, "C2", static_cast<int64_t>(dimensions.size()) == operand.rank(), "dimensions ",
                 ListText(dimensions));
  SHOAL_OP_CHECK(op, "C3", InRange(dimensions, result.rank()), "dimensions ", ListText(dimensions));
  SHOAL_OP_CHECK(op, "C4", IsUnique(dimensions), "dimensions ", ListText(dimensions));
  for (int64_t d = 0; d < operand.rank(); ++d) {
    // Unlike StableHLO's, HLO's broadcast does not stretch dimensions of size 1.
    SHOAL_OP_CHECK(op, "C5", operand.dim(d) == result.dim(dimensions[d]), "dimension ", d, " of size ",
                   operand.dim(d), " becomes ", result.dim(dimensions[d]));
  }
  return result;
}

absl::StatusOr<Shape> ReshapeShape(const OpView& op) {
  SHOAL_RETURN_IF_ERROR(CheckWanted(op));
  const Shape &operand = op.shape(0), &result = *op.wanted;
  SHOAL_OP_CHECK(op, "C1", operand.element_type() == result.element_type(), "element types differ");
  SHOAL_OP_CHECK(op, "C2", operand.ElementCount() == result.ElementCount(), operand.ElementCount(),
                 " elements become ", result.ElementCount());
  return result;
}

absl::StatusOr<Shape> BitcastShape(const OpView& op) {
  SHOAL_RETURN_IF_ERROR(CheckWanted(op));
  SHOAL_OP_CHECK(op, "H2", op.shape(0).ByteSize() == op.wanted->ByteSize(), op.shape(0).ByteSize(),
                 " bytes become ", op.wanted->ByteSize());
  return *op.wanted;
}

absl::StatusOr<Shape> TransposeShape(const OpView& op) {
  const Shape& operand = op.shape(0);
  const IntVector& permutation = op.attributes_as<DimensionsAttributes>().dimensions;
  SHOAL_OP_CHECK(op, "C2",
                 static_cast<int64_t>(permutation.size()) == operand.rank() &&
                     InRange(permutation, operand.rank()) && IsUnique(permutation),
                 ListText(permutation), " is not a permutation of the dimensions");
  DimVector dims;
  for (int64_t d : permutation) dims.push_back(operand.dim(d));
  return operand.WithDims(dims);
}

}  // namespace

template <>
absl::StatusOr<Shape> InferFamilyShape<OpFamily::kReshapeFamily>(const OpView& op) {
  SHOAL_RETURN_IF_ERROR(CheckArrays(op));
  switch (op.opcode) {
    case Opcode::kBitcast:
      return BitcastShape(op);
    case Opcode::kBroadcast:
      return BroadcastShape(op);
    case Opcode::kReshape:
      return ReshapeShape(op);
    default:
      return TransposeShape(op);
  }
}

}  // namespace shoal

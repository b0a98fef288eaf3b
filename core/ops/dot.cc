// dot: result dimensions are batch, free lhs, free rhs. Labels are those of dot_general.
#include "core/ops/op_check.h"

namespace shoal {
namespace {

absl::Status CheckSide(const OpView& op, int64_t side, const IntVector& batch, const IntVector& contracting) {
  const char* unique = side == 0 ? "C3" : "C4";
  const char* batch_range = side == 0 ? "C5" : "C7";
  const char* contracting_range = side == 0 ? "C6" : "C8";
  const int64_t rank = op.shape(side).rank();
  SHOAL_OP_CHECK(op, unique, IsUnique(Concatenated(batch, contracting)), "a dimension of operand ", side,
                 " comes twice: batch ", ListText(batch), ", contracting ", ListText(contracting));
  SHOAL_OP_CHECK(op, batch_range, InRange(batch, rank), "batch dimensions ", ListText(batch), " of operand ",
                 side);
  SHOAL_OP_CHECK(op, contracting_range, InRange(contracting, rank), "contracting dimensions ",
                 ListText(contracting), " of operand ", side);
  return absl::OkStatus();
}

}  // namespace

template <>
absl::StatusOr<Shape> InferFamilyShape<OpFamily::kDotFamily>(const OpView& op) {
  SHOAL_RETURN_IF_ERROR(CheckArrays(op));
  const DotAttributes& dot = op.attributes_as<DotAttributes>();
  const Shape &lhs = op.shape(0), &rhs = op.shape(1);
  SHOAL_OP_CHECK(op, "C1", dot.lhs_batch_dims.size() == dot.rhs_batch_dims.size(), "batch dimensions ",
                 ListText(dot.lhs_batch_dims), " and ", ListText(dot.rhs_batch_dims));
  SHOAL_OP_CHECK(op, "C2", dot.lhs_contracting_dims.size() == dot.rhs_contracting_dims.size(),
                 "contracting dimensions ", ListText(dot.lhs_contracting_dims), " and ",
                 ListText(dot.rhs_contracting_dims));
  SHOAL_RETURN_IF_ERROR(CheckSide(op, 0, dot.lhs_batch_dims, dot.lhs_contracting_dims));
  SHOAL_RETURN_IF_ERROR(CheckSide(op, 1, dot.rhs_batch_dims, dot.rhs_contracting_dims));
  DimVector dims;
  for (size_t i = 0; i < dot.lhs_batch_dims.size(); ++i) {
    const int64_t l = lhs.dim(dot.lhs_batch_dims[i]), r = rhs.dim(dot.rhs_batch_dims[i]);
    SHOAL_OP_CHECK(op, "C9", l == r, "batch dimensions of sizes ", l, " and ", r);
    dims.push_back(l);
  }
  for (size_t i = 0; i < dot.lhs_contracting_dims.size(); ++i) {
    const int64_t l = lhs.dim(dot.lhs_contracting_dims[i]), r = rhs.dim(dot.rhs_contracting_dims[i]);
    SHOAL_OP_CHECK(op, "C10", l == r, "contracting dimensions of sizes ", l, " and ", r);
  }
  for (int64_t d = 0; d < lhs.rank(); ++d) {
    if (!Contains(dot.lhs_batch_dims, d) && !Contains(dot.lhs_contracting_dims, d))
      dims.push_back(lhs.dim(d));
  }
  for (int64_t d = 0; d < rhs.rank(); ++d) {
    if (!Contains(dot.rhs_batch_dims, d) && !Contains(dot.rhs_contracting_dims, d))
      dims.push_back(rhs.dim(d));
  }
  // HLO lets two float types meet (f8e4m3fn by f8e5m2); the accumulator's type is the result's.
  const bool both_floats = IsFloat(lhs.element_type()) && IsFloat(rhs.element_type());
  SHOAL_OP_CHECK(op, "C13", lhs.element_type() == rhs.element_type() || both_floats, "element types differ");
  const bool typed = op.wanted != nullptr && op.wanted->IsArray();
  return Shape::Array(typed ? op.wanted->element_type() : lhs.element_type(), dims);
}

}  // namespace shoal

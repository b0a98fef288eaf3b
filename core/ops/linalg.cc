// cholesky, triangular-solve.
#include "core/ops/op_check.h"

namespace shoal {
namespace {

absl::Status CheckSquare(const OpView& op, absl::string_view rank_label, absl::string_view square_label) {
  const Shape& a = op.shape(0);
  SHOAL_OP_CHECK(op, "I1", IsFloat(a.element_type()) || IsComplex(a.element_type()), "is not defined for ",
                 ElementTypeName(a.element_type()));
  SHOAL_OP_CHECK(op, rank_label, a.rank() >= 2, "rank ", a.rank());
  SHOAL_OP_CHECK(op, square_label, a.dim(a.rank() - 1) == a.dim(a.rank() - 2), "the matrices are not square");
  return absl::OkStatus();
}

absl::StatusOr<Shape> TriangularSolveShape(const OpView& op) {
  const Shape &a = op.shape(0), &b = op.shape(1);
  const auto& solve = op.attributes_as<TriangularSolveAttributes>();
  SHOAL_OP_CHECK(op, "C1", a.element_type() == b.element_type(), "element types differ");
  SHOAL_RETURN_IF_ERROR(CheckSquare(op, "C2", "C3"));
  SHOAL_OP_CHECK(op, "C2", a.rank() == b.rank(), "ranks ", a.rank(), " and ", b.rank());
  const int64_t rank = a.rank();
  SHOAL_OP_CHECK(op, "C3", a.dims().subspan(0, rank - 2) == b.dims().subspan(0, rank - 2),
                 "batch dimensions differ");
  const int64_t size = b.dim(solve.left_side ? rank - 2 : rank - 1);
  SHOAL_OP_CHECK(op, "C3", a.dim(rank - 1) == size, "a matrix of size ", a.dim(rank - 1), " for ", size,
                 " unknowns");
  return b;
}

}  // namespace

template <>
absl::StatusOr<Shape> InferFamilyShape<OpFamily::kLinalgFamily>(const OpView& op) {
  SHOAL_RETURN_IF_ERROR(CheckArrays(op));
  if (op.opcode == Opcode::kTriangularSolve) return TriangularSolveShape(op);
  SHOAL_RETURN_IF_ERROR(CheckSquare(op, "C2", "C3"));
  return op.shape(0);
}

}  // namespace shoal

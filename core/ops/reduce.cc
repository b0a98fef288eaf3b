// reduce: operands are n arrays, then n initial values.
#include "core/ops/op_check.h"

namespace shoal {

template <>
absl::StatusOr<Shape> InferFamilyShape<OpFamily::kReduceFamily>(const OpView& op) {
  SHOAL_RETURN_IF_ERROR(CheckArrays(op));
  SHOAL_OP_CHECK(op, "C3", op.operand_count() > 0 && op.operand_count() % 2 == 0, op.operand_count(),
                 " operands");
  const int64_t n = op.operand_count() / 2;
  const Shape& first = op.shape(0);
  for (int64_t i = 0; i < n; ++i) {
    SHOAL_OP_CHECK(op, "C1", op.shape(i).dims() == first.dims(), "the inputs' dimensions differ");
    SHOAL_OP_CHECK(op, "C2",
                   op.shape(n + i).IsScalar() && op.shape(n + i).element_type() == op.shape(i).element_type(),
                   "initial value ", i, " is not a scalar of its input's element type");
  }
  const IntVector& reduced = op.attributes_as<DimensionsAttributes>().dimensions;
  SHOAL_OP_CHECK(op, "C4", InRange(reduced, first.rank()), "dimensions ", ListText(reduced));
  SHOAL_OP_CHECK(op, "C5", IsUnique(reduced), "dimensions ", ListText(reduced));
  SHOAL_ASSIGN_OR_RETURN(std::vector<ElementType> types, ReductionTypes(op, "C6", 0, n));
  DimVector dims;
  for (int64_t d = 0; d < first.rank(); ++d) {
    if (!Contains(reduced, d)) dims.push_back(first.dim(d));
  }
  std::vector<Shape> results;
  for (ElementType type : types) results.push_back(Shape::Array(type, dims));
  return OneOrTuple(std::move(results));
}

}  // namespace shoal

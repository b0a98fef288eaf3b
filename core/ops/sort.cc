// sort, topk.
#include "core/ops/op_check.h"

namespace shoal {
namespace {

absl::StatusOr<Shape> SortShape(const OpView& op) {
  SHOAL_OP_CHECK(op, "C1", op.operand_count() > 0, "nothing to sort");
  const Shape& first = op.shape(0);
  std::vector<Shape> results, scalars;
  for (int64_t i = 0; i < op.operand_count(); ++i) {
    SHOAL_OP_CHECK(op, "C3", op.shape(i).dims() == first.dims(), "the inputs' dimensions differ");
    results.push_back(op.shape(i));
    scalars.insert(scalars.end(), 2, Shape::Scalar(op.shape(i).element_type()));
  }
  const int64_t dimension = op.attributes_as<SortAttributes>().dimension;
  SHOAL_OP_CHECK(op, "C4", dimension >= 0 && dimension < first.rank(), "dimension ", dimension);
  SHOAL_RETURN_IF_ERROR(CheckSignature(op, "C5", 0, scalars, Shape::Scalar(ElementType::kPred)));
  return OneOrTuple(std::move(results));
}

// (values, indices) of the last dimension.
absl::StatusOr<Shape> TopKShape(const OpView& op) {
  const Shape& operand = op.shape(0);
  const int64_t k = op.attributes_as<TopKAttributes>().k;
  SHOAL_OP_CHECK(op, "H1", operand.rank() >= 1, "wants a dimension");
  SHOAL_OP_CHECK(op, "H2", k >= 0 && k <= operand.dim(operand.rank() - 1), "k ", k);
  DimVector dims(operand.dims().begin(), operand.dims().end());
  dims.back() = k;
  return Shape::Tuple({operand.WithDims(dims), Shape::Array(ElementType::kS32, dims)});
}

}  // namespace

template <>
absl::StatusOr<Shape> InferFamilyShape<OpFamily::kSortFamily>(const OpView& op) {
  SHOAL_RETURN_IF_ERROR(CheckArrays(op));
  return op.opcode == Opcode::kSort ? SortShape(op) : TopKShape(op);
}

}  // namespace shoal

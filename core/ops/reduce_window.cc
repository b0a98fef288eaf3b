// reduce-window, select-and-scatter.
#include "core/ops/op_check.h"
#include "core/ops/window.h"

namespace shoal {
namespace {

absl::StatusOr<DimVector> WindowedDims(const OpView& op, const WindowLabels& labels,
                                       absl::string_view size_label, absl::string_view positive_label) {
  const Window& window = op.attributes_as<WindowAttributes>().window;
  const Shape& first = op.shape(0);
  SHOAL_OP_CHECK(op, size_label, static_cast<int64_t>(window.size()) == first.rank(), "a window of ",
                 window.size(), " dimensions");
  DimVector dims;
  for (int64_t d = 0; d < first.rank(); ++d) {
    SHOAL_RETURN_IF_ERROR(CheckWindowDimension(op, window[d], labels));
    SHOAL_OP_CHECK(op, positive_label, window[d].size > 0, "a window of size ", window[d].size);
    dims.push_back(WindowPositions(first.dim(d), window[d]));
  }
  return dims;
}

absl::StatusOr<Shape> ReduceWindowShape(const OpView& op) {
  SHOAL_OP_CHECK(op, "C1", op.operand_count() > 0 && op.operand_count() % 2 == 0, op.operand_count(),
                 " operands");
  const int64_t n = op.operand_count() / 2;
  for (int64_t i = 0; i < n; ++i) {
    SHOAL_OP_CHECK(op, "C2", op.shape(i).dims() == op.shape(0).dims(), "the inputs' dimensions differ");
    SHOAL_OP_CHECK(op, "C3",
                   op.shape(n + i).IsScalar() && op.shape(n + i).element_type() == op.shape(i).element_type(),
                   "initial value ", i, " is not a scalar of its input's element type");
  }
  SHOAL_ASSIGN_OR_RETURN(DimVector dims, WindowedDims(op, {"C7", "C9", "C11"}, "C4", "C5"));
  SHOAL_ASSIGN_OR_RETURN(std::vector<ElementType> types, ReductionTypes(op, "C13", 0, n));
  std::vector<Shape> results;
  for (ElementType type : types) results.push_back(Shape::Array(type, dims));
  return OneOrTuple(std::move(results));
}

// Operands: operand, source (one value a window), initial value. Called: select, scatter.
absl::StatusOr<Shape> SelectAndScatterShape(const OpView& op) {
  const Shape &operand = op.shape(0), &source = op.shape(1), &init = op.shape(2);
  SHOAL_OP_CHECK(op, "C1", operand.element_type() == source.element_type(), "element types differ");
  SHOAL_OP_CHECK(op, "C3", init.IsScalar() && init.element_type() == operand.element_type(),
                 "the initial value is not a scalar of the operand's element type");
  SHOAL_ASSIGN_OR_RETURN(DimVector dims, WindowedDims(op, {"C7", "H2", "H2"}, "C4", "C5"));
  SHOAL_OP_CHECK(op, "C2", source.dims() == absl::MakeConstSpan(dims), "the source is not ", ListText(dims));
  const Shape scalar = Shape::Scalar(operand.element_type());
  const Shape both[] = {scalar, scalar};
  SHOAL_RETURN_IF_ERROR(CheckSignature(op, "C9", 0, both, Shape::Scalar(ElementType::kPred)));
  SHOAL_ASSIGN_OR_RETURN(std::vector<ElementType> types, ReductionTypes(op, "C10", 1, 1));
  return operand.WithElementType(types[0]);
}

}  // namespace

template <>
absl::StatusOr<Shape> InferFamilyShape<OpFamily::kReduceWindowFamily>(const OpView& op) {
  SHOAL_RETURN_IF_ERROR(CheckArrays(op));
  return op.opcode == Opcode::kReduceWindow ? ReduceWindowShape(op) : SelectAndScatterShape(op);
}

}  // namespace shoal

// call, conditional, while. Labels of conditional are those of case, or of if where a pred chooses.
#include "core/ops/op_check.h"

namespace shoal {
namespace {

// The shapes of operands from `first` on.
std::vector<Shape> OperandShapes(const OpView& op, int64_t first = 0) {
  std::vector<Shape> shapes;
  for (int64_t i = first; i < op.operand_count(); ++i) shapes.push_back(op.shape(i));
  return shapes;
}

absl::StatusOr<Shape> CallShape(const OpView& op) {
  SHOAL_OP_CHECK(op, "C1", op.called[0]->root() != nullptr, "%", op.called[0]->name(), " has no root");
  const Shape& result = op.called[0]->root()->shape();
  SHOAL_RETURN_IF_ERROR(CheckSignature(op, "C1", 0, OperandShapes(op), result));
  return result;
}

// Operand 0 chooses; operand 1 + i is the only parameter of branch i.
absl::StatusOr<Shape> ConditionalShape(const OpView& op) {
  SHOAL_OP_CHECK(op, "C1", !op.called.empty(), "no branches");
  SHOAL_OP_CHECK(op, "C2", op.operand_count() == static_cast<int64_t>(op.called.size()) + 1, op.called.size(),
                 " branches want an operand each");
  const Shape& index = op.shape(0);
  const bool is_pred = index == Shape::Scalar(ElementType::kPred);
  SHOAL_OP_CHECK(op, "I1", is_pred || index == Shape::Scalar(ElementType::kS32),
                 "the index is neither pred[] nor s32[]");
  SHOAL_OP_CHECK(op, "I1", !is_pred || op.called.size() == 2, "a pred chooses between two branches");
  SHOAL_OP_CHECK(op, "C1", op.called[0]->root() != nullptr, "%", op.called[0]->name(), " has no root");
  const Shape& result = op.called[0]->root()->shape();
  for (size_t i = 0; i < op.called.size(); ++i)
    SHOAL_RETURN_IF_ERROR(CheckSignature(op, is_pred ? "C2" : "C3", i, {op.shape(i + 1)}, result));
  return result;
}

absl::StatusOr<Shape> WhileShape(const OpView& op) {
  const Shape& state = op.shape(0);
  SHOAL_RETURN_IF_ERROR(CheckSignature(op, "C1", 0, {state}, Shape::Scalar(ElementType::kPred)));
  SHOAL_RETURN_IF_ERROR(CheckSignature(op, "C2", 1, {state}, state));
  return state;
}

}  // namespace

template <>
absl::StatusOr<Shape> InferFamilyShape<OpFamily::kControlFamily>(const OpView& op) {
  switch (op.opcode) {
    case Opcode::kCall:
      return CallShape(op);
    case Opcode::kConditional:
      return ConditionalShape(op);
    default:
      return WhileShape(op);
  }
}

}  // namespace shoal

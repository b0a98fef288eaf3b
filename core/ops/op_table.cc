// The table of families, from HLO_FAMILY_LIST: a family whose file is missing does not link.
#include "core/hlo/attribute_text.h"
#include "core/ops/op_check.h"
#include "core/ops/shape_inference.h"

namespace shoal {
namespace {

using FamilyFunction = absl::StatusOr<Shape> (*)(const OpView&);
constexpr FamilyFunction kFamilies[] = {
#define SHOAL_FAMILY(family, stem) InferFamilyShape<OpFamily::family>,
    HLO_FAMILY_LIST(SHOAL_FAMILY)
#undef SHOAL_FAMILY
};

absl::Status CheckSize(const OpView& op, const Shape& shape) {
  if (shape.IsTuple()) {
    for (const Shape& element : shape.elements()) SHOAL_RETURN_IF_ERROR(CheckSize(op, element));
    return absl::OkStatus();
  }
  const absl::Status size = CheckedProduct(shape.dims(), ByteWidth(shape.element_type())).status();
  return size.ok() ? size : OpError(op, "H1", size.message());
}

absl::Status CheckKind(const OpView& op) {
  const int arity = OpcodeArity(op.opcode);
  SHOAL_OP_CHECK(op, "I1", arity < 0 || op.operand_count() == arity, "wants ", arity, " operands");
  SHOAL_OP_CHECK(op, "I1", op.attributes.index() == AttributeKind(op.opcode),
                 "has attributes of another operation");
  int64_t calls = CallsComputations(op.opcode) ? 1 : 0;
  if (op.opcode == Opcode::kWhile || op.opcode == Opcode::kSelectAndScatter) calls = 2;
  if (op.opcode == Opcode::kConditional || op.opcode == Opcode::kCustomCall) calls = op.called.size();
  SHOAL_OP_CHECK(op, "I1", static_cast<int64_t>(op.called.size()) == calls, "wants ", calls, " computations");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Shape> InferShape(const OpView& op) {
  SHOAL_RETURN_IF_ERROR(CheckKind(op));
  SHOAL_ASSIGN_OR_RETURN(Shape shape, kFamilies[static_cast<int>(FamilyOf(op.opcode))](op));
  SHOAL_RETURN_IF_ERROR(CheckSize(op, shape));
  return shape;
}

absl::StatusOr<Shape> InferShape(const Instruction& instruction) {
  return InferShape(OpView{instruction.opcode(), instruction.operands(), instruction.attributes(),
                           instruction.called(), &instruction.shape(), instruction.parent()->parent()});
}

}  // namespace shoal

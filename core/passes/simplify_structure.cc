// Rules of tuples and branches.
#include "core/passes/inline_calls.h"
#include "core/passes/match.h"
#include "core/passes/simplify.h"

namespace shoal {
namespace {

Instruction* ElementOfTuple(Instruction& op, HloBuilder&) {
  Instruction* tuple = op.operand(0);
  return tuple->opcode() == Opcode::kTuple ? tuple->operand(op.tuple_index()) : nullptr;
}

// tuple(t[0], t[1]) -> t
Instruction* TupleOfElements(Instruction& op, HloBuilder&) {
  if (op.operand_count() == 0) return nullptr;
  Instruction* whole = nullptr;
  for (int64_t i = 0; i < op.operand_count(); ++i) {
    const Instruction* element = op.operand(i);
    if (element->opcode() != Opcode::kGetTupleElement || element->tuple_index() != i) return nullptr;
    if (whole != nullptr && element->operand(0) != whole) return nullptr;
    whole = element->operand(0);
  }
  // A parameter or loop may not be handed out as a body's root: passes over loops look for a tuple there.
  const bool is_root = op.parent()->root() == &op;
  return whole->shape() == op.shape() && !is_root ? whole : nullptr;
}

// A conditional whose branch is known.
Instruction* ConditionalByConstant(Instruction& op, HloBuilder& b) {
  const int64_t branches = static_cast<int64_t>(op.called().size());
  int64_t chosen = 0;
  if (branches > 1) {
    const auto index = ScalarInt(op.operand(0));
    if (!index) return nullptr;
    const bool is_pred = op.operand(0)->shape().element_type() == ElementType::kPred;
    chosen = is_pred ? (*index != 0 ? 0 : 1) : (*index < 0 || *index >= branches ? branches - 1 : *index);
  }
  return InlineBody(*op.called(chosen), {op.operand(chosen + 1)}, *b.computation());
}

constexpr SimplifyRow kRows[] = {
    {Opcode::kConditional, "conditional by a constant", ConditionalByConstant},
    {Opcode::kGetTupleElement, "element of tuple", ElementOfTuple},
    {Opcode::kTuple, "tuple of elements", TupleOfElements},
};

}  // namespace

absl::Span<const SimplifyRow> StructureRules() { return kRows; }

}  // namespace shoal

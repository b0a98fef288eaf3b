#include "core/passes/inline_calls.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/hlo/origin.h"
#include "core/passes/loop_state.h"

namespace shoal {
namespace {

// `value` with the shardings that `from` asks for. An array's become a constraint; a tuple's are kept only if
// nothing is said yet.
Instruction* WithShardings(Instruction* value, const Instruction& from) {
  if (from.shardings().empty() || from.shardings() == value->shardings()) return value;
  if (!value->shape().IsArray()) {
    if (value->shardings().empty() && value->opcode() != Opcode::kParameter)
      value->set_shardings(from.shardings());
    return value;
  }
  Instruction* constraint = value->parent()->Add(Opcode::kShardingConstraint, value->shape(), {value});
  constraint->set_shardings(from.shardings());
  constraint->set_op_name(from.op_name());
  return constraint;
}

// Where JAX has traced a function once for many callers, nothing in it says where the user wrote it: what has
// no file of its own is of the call's.
void TakeSource(const Origin& call, Instruction& inlined) {
  Origin own = ParseOrigin(inlined.op_name());
  if (call.file.empty() || own.name.empty() || !own.file.empty()) return;
  own.file = call.file;
  own.line = call.line;
  inlined.set_op_name(OriginText(own));
}

bool InlineIn(Computation& computation, const absl::flat_hash_map<const Computation*, int>& call_counts) {
  bool changed = false;
  for (Instruction* call : computation.instructions()) {
    if (call->opcode() != Opcode::kCall) continue;
    const std::vector<Instruction*> arguments(call->operands().begin(), call->operands().end());
    const Computation& callee = *call->called(0);
    const bool shared = call_counts.at(&callee) > 1;
    Instruction* result =
        WithShardings(InlineBody(callee, arguments, computation, shared, call->op_name()), *call);
    call->ReplaceAllUsesWith(result);
    computation.Remove(call);
    changed = true;
  }
  return changed;
}

}  // namespace

Instruction* InlineBody(const Computation& callee, absl::Span<Instruction* const> arguments,
                        Computation& into, bool copy_control, absl::string_view call_name) {
  const Origin call = ParseOrigin(call_name);
  absl::flat_hash_map<const Instruction*, Instruction*> clones;
  for (const Instruction* instruction : callee.instructions()) {
    if (instruction->opcode() == Opcode::kParameter) {
      clones[instruction] = WithShardings(arguments[instruction->parameter_number()], *instruction);
      continue;
    }
    std::vector<Instruction*> operands;
    for (const Instruction* operand : instruction->operands()) operands.push_back(clones.at(operand));
    Instruction* clone = into.AddClone(*instruction, operands);
    TakeSource(call, *clone);
    clones[instruction] = clone;
    if (!copy_control || FamilyOf(clone->opcode()) != OpFamily::kControlFamily) continue;
    for (int64_t i = 0; i < static_cast<int64_t>(clone->called().size()); ++i)
      clone->set_called(i, into.parent()->CloneComputation(*clone->called(i)));
  }
  return clones.at(callee.root());
}

absl::StatusOr<bool> InlineCalls(Module& module) {
  // Callees first, so that what is copied has no calls any more.
  module.SortComputations();
  const auto call_counts = CallCounts(module);
  bool changed = false;
  for (Computation* computation : module.computations()) {
    if (!InlineIn(*computation, call_counts)) continue;
    changed = true;
    if (!computation->SortTopologically())
      return absl::InternalError(absl::StrCat("%", computation->name(), " has a cycle after inlining"));
  }
  if (changed) module.RemoveUnreachableComputations();
  return changed;
}

}  // namespace shoal

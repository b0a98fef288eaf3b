#include "sharding/propagate/flatten.h"

#include "absl/container/flat_hash_set.h"
#include "core/base/status.h"
#include "core/passes/inline_calls.h"

namespace shoal {
namespace {

class Flattener {
 public:
  absl::Status Flatten(Computation* computation) {
    bool inlined = false;
    for (Instruction* instruction : computation->instructions()) {
      const auto callees = ProgramComputations(*instruction);
      if (callees.empty()) {
        for (Computation* region : instruction->called()) DropConstraints(region);
      }
      for (int64_t i = 0; i < static_cast<int64_t>(callees.size()); ++i) {
        Computation* callee = instruction->called(i);
        if (!owned_.insert(callee).second) {
          callee = callee->parent()->CloneComputation(*callee);
          owned_.insert(callee);
          instruction->set_called(i, callee);
        }
        SHOAL_RETURN_IF_ERROR(Flatten(callee));
      }
      if (instruction->opcode() != Opcode::kCall) continue;
      instruction->ReplaceAllUsesWith(
          InlineBody(*instruction->called(0), instruction->operands(), *computation));
      computation->Remove(instruction);
      inlined = true;
    }
    if (inlined && !computation->SortTopologically()) {
      return absl::InternalError("a cycle after inlining calls");
    }
    return absl::OkStatus();
  }

 private:
  static void DropConstraints(Computation* region) {
    for (Instruction* instruction : region->instructions()) {
      if (instruction->opcode() != Opcode::kShardingConstraint) continue;
      instruction->ReplaceAllUsesWith(instruction->operand(0));
      region->Remove(instruction);
    }
  }

  absl::flat_hash_set<Computation*> owned_;
};

}  // namespace

absl::Span<Computation* const> ProgramComputations(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kWhile:
    case Opcode::kConditional:
    case Opcode::kCall:
    case Opcode::kManualComputation:
      return instruction.called();
    default:
      return {};
  }
}

absl::Status FlattenCalls(Module& module) {
  SHOAL_RETURN_IF_ERROR(Flattener().Flatten(module.entry()));
  module.RemoveUnreachableComputations();
  return absl::OkStatus();
}

}  // namespace shoal

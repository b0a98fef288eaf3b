#include "core/passes/remove_barriers.h"

namespace shoal {

absl::StatusOr<bool> RemoveBarriers(Module& module) {
  bool changed = false;
  for (Computation* computation : module.computations()) {
    for (Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() != Opcode::kOptimizationBarrier) continue;
      instruction->ReplaceAllUsesWith(instruction->operand(0));
      computation->Remove(instruction);
      changed = true;
    }
  }
  return changed;
}

}  // namespace shoal

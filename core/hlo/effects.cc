#include "core/hlo/effects.h"

namespace shoal {

bool HasEffect(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kCustomCall)
    return instruction.attributes<CustomCallAttributes>().has_side_effect;
  if (HasSideEffect(instruction.opcode()) && instruction.opcode() != Opcode::kRng) return true;
  for (const Computation* callee : instruction.called()) {
    for (const Instruction* inner : callee->instructions()) {
      if (HasEffect(*inner)) return true;
    }
  }
  return false;
}

}  // namespace shoal

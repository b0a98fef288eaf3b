// Element i of the result comes from elements i of the operands; scalar operands (clamp, select) have no
// factor. bitcast-convert between widths has one more last dimension on one side, which needs to be whole.
#include <algorithm>

#include "sharding/rules/rule.h"

namespace shoal {

FactorRule elementwise_rule(const Instruction& instruction) {
  RuleBuilder rule(instruction);
  const int64_t rank = instruction.shape().rank();
  if (instruction.opcode() != Opcode::kBitcastConvert) return rule.AddPointwise(rank).Build();
  for (int64_t d = 0; d < std::min(rank, instruction.operand(0)->shape().rank()); ++d) rule.Add({d}, {d});
  return rule.Build();
}

}  // namespace shoal

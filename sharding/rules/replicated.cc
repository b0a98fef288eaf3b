// The families whose rule is none: values from nothing take any sharding, and control, tuple and sharding
// instructions are linked by propagate itself.
#include "sharding/rules/rule.h"

namespace shoal {

FactorRule constant_rule(const Instruction& instruction) {
  return RuleBuilder(instruction).AddPointwise(instruction.shape().rank()).Build();
}
FactorRule rng_rule(const Instruction& instruction) { return ReplicatedRule(instruction); }
FactorRule control_rule(const Instruction&) { return {}; }
FactorRule fusion_rule(const Instruction& instruction) { return ReplicatedRule(instruction); }
FactorRule tuple_rule(const Instruction&) { return {}; }

// sharding-constraint and reshard: the identity. manual-computation: linked by propagate.
FactorRule sharding_rule(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kManualComputation) return {};
  return RuleBuilder(instruction).AddPointwise(instruction.shape().rank()).Build();
}

}  // namespace shoal

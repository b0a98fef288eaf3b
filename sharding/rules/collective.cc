// Inside manual regions: along the axes that are still free, a collective over manual axes works on each
// element of the dimensions that it leaves alone.
#include "sharding/rules/rule.h"

namespace shoal {

FactorRule collective_rule(const Instruction& instruction) {
  const Shape& shape = instruction.shape();
  if (!shape.IsArray() || instruction.operand_count() != 1) return ReplicatedRule(instruction);
  const auto& special = instruction.attributes<CollectiveAttributes>().dimensions;
  return RuleBuilder(instruction).AddPointwise(shape.rank(), special).Build();
}

}  // namespace shoal

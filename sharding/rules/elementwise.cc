// Element i of the result comes from elements i of the operands; scalar operands (clamp, select) have no
// factor. bitcast-convert between widths has one more dimension on one side: it needs the whole.
#include "sharding/rules/rule.h"

namespace shoal {

FactorRule elementwise_rule(const Instruction& instruction) {
  return RuleBuilder(instruction).AddPointwise(instruction.shape().rank()).Build();
}

}  // namespace shoal

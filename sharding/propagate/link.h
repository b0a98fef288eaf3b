// Link: what propagation works along. Either an instruction with its factor rule, or the identity between
// two values (a loop's state and what flows into it), or the border of a manual region.
#pragma once

#include <vector>

#include "sharding/propagate/factor_propagation.h"
#include "sharding/rules/rule.h"

namespace shoal {

struct Link {
  const Instruction* instruction = nullptr;  // null: identity or border
  FactorRule rule;
  std::vector<int> operands, results;  // values
  // The border of a manual region, between operands[0] outside and results[0] inside: the manual atoms that
  // each dimension has outside before the free ones.
  bool is_manual_border = false;
  std::vector<AxisList> manual_prefix;
};

// The rule of `result = operand` for an array of `shape`.
FactorRule IdentityRule(const Shape& shape);

// In which direction axes may flow along a factor at one of the levels 0 to kPropagationLevels-1; a level
// allows all that lower ones do. `shared_operand`: some operand has other users too.
inline constexpr int kPropagationLevels = 5;
Direction DirectionAt(int level, const Link& link, int factor, bool shared_operand);

// Free axes from one side of a manual region's border to the other. True if either state changed.
bool PropagateManualBorder(const Link& link, TensorState& outside, TensorState& inside);

}  // namespace shoal

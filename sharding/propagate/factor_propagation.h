// One step of propagation: along the factors of one rule, between the arrays of one instruction. Knows no
// operations (Shardy's idea).
//
// For every factor the arrays' axes are compared; what all of them agree on, as far as the longest goes, is
// offered to each. An array takes as much as its open dimension, its other dimensions and divisibility allow.
// Two factors that want the same axis in one array: in the basic strategy neither gets it, in the aggressive
// one the factor whose axes come from the larger array.
#pragma once

#include <functional>
#include <vector>

#include "sharding/propagate/tensor_state.h"
#include "sharding/rules/rule.h"

namespace shoal {

enum class Direction : uint8_t { kNone = 0, kForward = 1, kBackward = 2, kBoth = 3 };

struct FactorPropagation {
  const FactorRule* rule = nullptr;
  // Where a result cannot take an axis, an operand does not take it from another operand either.
  bool is_elementwise = false;
  std::vector<TensorState*> operands, results;  // one a leaf, as in the rule
};

// True if a state changed; `changed` then says which (operands first, then results).
bool PropagateFactors(const FactorPropagation& op, const std::function<Direction(int factor)>& direction,
                      bool aggressive, std::vector<bool>& changed);

}  // namespace shoal

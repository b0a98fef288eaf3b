// CostOf: how much a module computes and moves, counted as XLA's cost analysis counts, so that JAX's
// compiled.cost_analysis() means the same here: a multiplication and an addition are two flops, functions
// such as exp are transcendentals and no flops, a loop's body counts once, a fusion moves only its operands
// and results. Estimates for people, not for scheduling. Thread-safe.
#pragma once

#include "core/hlo/instruction.h"

namespace shoal {

struct Cost {
  double flops = 0;
  double transcendentals = 0;
  double bytes_accessed = 0;
  Cost& operator+=(const Cost& other);
};

Cost CostOf(const Instruction& instruction);
Cost CostOf(const Module& module);

}  // namespace shoal

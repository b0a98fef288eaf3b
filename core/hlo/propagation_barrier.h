// propagation-barrier: a custom call that gives its operand as it is. Shardings pass it in the direction only
// that its backend_config names: FORWARD (to the result), BACKWARD or NONE. Propagation reads it; after
// partitioning there is none.
#pragma once

#include "core/hlo/custom_call_target.h"

namespace shoal {

inline constexpr char kPropagationBarrierTarget[] = "sdy.propagation_barrier";

inline bool IsPropagationBarrier(const Instruction& instruction) {
  return IsCallOf(instruction, kPropagationBarrierTarget);
}

}  // namespace shoal

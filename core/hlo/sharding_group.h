// sharding-group: a custom call without result. Its operand is to be sharded like the operands of all such calls
// whose backend_config holds the same number. Propagation reads it; after partitioning there is none.
#pragma once

#include "core/hlo/custom_call_target.h"

namespace shoal {

inline constexpr char kShardingGroupTarget[] = "sdy.sharding_group";

inline bool IsShardingGroup(const Instruction& instruction) {
  return IsCallOf(instruction, kShardingGroupTarget);
}

}  // namespace shoal

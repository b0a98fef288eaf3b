// Who takes part in a program's collectives: every partition of every replica, by the number
// replica * num_partitions + partition.
#pragma once

#include <cstdint>

#include "core/hlo/instruction.h"

namespace shoal {

inline int64_t ParticipantCount(const ModuleConfig& config) {
  return config.num_replicas * config.num_partitions;
}
inline int64_t ParticipantCount(const Instruction& instruction) {
  return ParticipantCount(instruction.parent()->parent()->config());
}

}  // namespace shoal

// What the partitioner's choices are paid in: bytes that one device sends under the ring model. A collective
// costs kStepCost besides its bytes, and memory is about ten times as fast as the network between processes.
#pragma once

namespace shoal {

inline constexpr double kStepCost = 2048;
inline constexpr double kMemoryByte = 0.1;

}  // namespace shoal

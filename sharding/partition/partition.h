// Partition: the program of all devices becomes the program of each one (SPMD).
//
// REQUIRES: PropagateShardings has run. Afterwards shapes are local, movement between devices is collectives
// whose groups hold partition ids, sharding constraints and manual computations are gone. The shardings that
// entry parameters and results really have stay on the parameters and in config().result_shardings.
//
// Right for every operation: what has no rule for a split dimension gathers it, which SHOAL_LOG=1 reports by
// name. A program of one partition only loses its annotations and manual regions.
#pragma once

#include "absl/status/status.h"
#include "core/hlo/instruction.h"

namespace shoal {

absl::Status Partition(Module& module);

}  // namespace shoal

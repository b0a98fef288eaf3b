// SimplifyWhile: loops carry less and repeat less.
//
//   - an element that no iteration changes is read from outside the loop; if it is a small constant, it
//     stands in the body itself;
//   - a loop that never runs is its initial state; one that runs once is its body; one of few iterations is
//     written out if all of them fit into one kernel;
//   - work in the body that depends on nothing that changes is done once before the loop, where its result is
//     not bigger than what it is computed from, and collectives, gathers up to a limit.
#pragma once

#include "absl/status/statusor.h"
#include "core/hlo/instruction.h"

namespace shoal {

absl::StatusOr<bool> SimplifyWhile(Module& module);

}  // namespace shoal

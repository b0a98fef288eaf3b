// EliminateDeadCode: removes what nothing needs.
//
// Instructions without users (a loop or branch with a side effect inside stays); elements of a while's state
// that nothing but themselves depends on; unreachable computations. The entry's parameters stay.
#pragma once

#include "absl/status/statusor.h"
#include "core/hlo/instruction.h"

namespace shoal {

absl::StatusOr<bool> EliminateDeadCode(Module& module);

// Only instructions without users, in one computation.
bool RemoveDeadInstructions(Computation& computation);

// Whether running `instruction` can be noticed by other means than its result, itself or something that it
// calls.
bool HasEffect(const Instruction& instruction);

}  // namespace shoal

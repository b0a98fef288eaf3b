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

}  // namespace shoal

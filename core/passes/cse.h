// EliminateCommonSubexpressions: of instructions that compute the same from the same, one stays.
//
//     a = add(x, y)   b = add(y, x)   c = multiply(a, b)      ->      a = add(x, y)   c = multiply(a, a)
//
// Computations that print the same count as the same callee. Instructions with side effects and collectives
// stay as they are (two of a kind are two rendezvous); an opt-barrier's results are not those of another.
#pragma once

#include "absl/status/statusor.h"
#include "core/hlo/instruction.h"

namespace shoal {

absl::StatusOr<bool> EliminateCommonSubexpressions(Module& module);

}  // namespace shoal

// Fold: constants computed from constants, where the result is exact without running code.
//
//     add(3, 4)  ->  7          slice({1, 2, 3})  ->  {2, 3}          convert(s64 5)  ->  s32 5
//
// Integer and pred arithmetic, comparisons, conversions that lose nothing to rounding rules, and moves of
// elements; small results only. Float arithmetic on scalars is left to the code generator, which folds it in
// place; arrays that repeat one value stay broadcasts, and iota stays iota, for both cost no memory. Leaves
// dead code.
#pragma once

#include "absl/status/statusor.h"
#include "core/hlo/instruction.h"

namespace shoal {

absl::StatusOr<bool> Fold(Module& module);

}  // namespace shoal

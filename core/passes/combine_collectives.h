// CombineCollectives: small collectives of one kind, group and reduction that do not wait for one another
// become one with several operands.
//
//     a = all-reduce(x)   b = all-reduce(y)     ->     c = (..) all-reduce(x, y)   a = c[0]   b = c[1]
//
// One start-up time instead of many; at most kMaxCombinedBytes in one, for a big one gains nothing and would
// have to wait for its last operand. all-reduce, all-gather, reduce-scatter.
#pragma once

#include "absl/status/statusor.h"
#include "core/hlo/instruction.h"

namespace shoal {

inline constexpr int64_t kMaxCombinedBytes = int64_t{1} << 20;

absl::StatusOr<bool> CombineCollectives(Module& module);

}  // namespace shoal

// ExpandReducers: an all-reduce or reduce-scatter by a computation that no transport knows
// (core/ops/reduction.h lists those that they do) becomes an exchange of the parts and code that combines
// them, in the order of the group's members, so that all get the same bits:
//
//     y = f32[n] all-reduce(x), to_apply=f
//  -> p = all-to-all(x, in k parts);  y = all-gather(f(...f(f(p[0], p[1]), p[2])..., p[k-1]))
//
// which sends what a ring would; a small array is gathered whole instead, in one round. Among groups of
// different sizes each member in turn broadcasts its array. Where f is not elementwise (it has a loop), a
// loop calls it for one element after the other (core/ops/map.h).
#pragma once

#include "absl/status/statusor.h"
#include "core/hlo/instruction.h"

namespace shoal {

absl::StatusOr<bool> ExpandReducers(Module& module);

}  // namespace shoal

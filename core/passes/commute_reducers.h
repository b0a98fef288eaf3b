// CommuteReducers: argmin and argmax whose reducer keeps the first NaN it meets become ones that keep the NaN
// of lower index, so that elements may be combined in any order: in lanes, in chunks, on several devices.
//
//     pick(x, i; y, j) = x > y or x is NaN                  the index is i also if x == y and i < j
//  -> pick(x, i; y, j) = x > y or x is NaN and y is not      the index is i also if i < j and either x == y
//                                                            or both are NaN
//
// The two agree where elements are combined in the order of their indices, which is what such a reducer
// (JAX's argmin and argmax have it) relies on.
#pragma once

#include "absl/status/statusor.h"
#include "core/hlo/instruction.h"

namespace shoal {

absl::StatusOr<bool> CommuteReducers(Module& module);

}  // namespace shoal

// Questions that passes ask about instructions.
#pragma once

#include <cstdint>
#include <optional>

#include "core/hlo/instruction.h"

namespace shoal {

// The constant whose first element is all elements of `instruction`: itself, or what it is a broadcast of;
// null if there is none.
const Literal* SplatOf(const Instruction* instruction);
// Whether all elements are `value`, exactly (zero of either sign).
bool IsSplatOf(const Instruction* instruction, double value);
// The value of a scalar integer or pred constant.
std::optional<int64_t> ScalarInt(const Instruction* instruction);

bool IsIdentityPermutation(absl::Span<const int64_t> permutation);
// The dimensions that are not of size 1.
IntVector WideDimensions(absl::Span<const int64_t> dims);
// Whether the two differ in dimensions of size 1 only, so that a reshape between them moves nothing.
bool SameWideSizes(absl::Span<const int64_t> a, absl::Span<const int64_t> b);

}  // namespace shoal

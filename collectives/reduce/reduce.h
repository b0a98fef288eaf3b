// Local reductions: the arithmetic of all-reduce and reduce-scatter on arrays in memory, for every element
// type. Runs on the calling thread; pure; thread-safe.
//
// The sources are combined one after another in their order, per element; bf16, f16 and narrower floats in
// f32 with one rounding at the end. min and max hand on NaN and take -0 for less than +0. Integers wrap;
// sub-byte ones wrap in their own width. pred is logical: sum and max are or, product and min are and.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/runtime/communicator.h"
#include "core/types/element_type.h"

namespace shoal {

absl::string_view ReductionName(ReductionKind kind);

// InvalidArgument naming both for what has no meaning: bitwise on floats, order on complex numbers, tokens.
absl::Status CheckReduction(ElementType type, ReductionKind kind);

// target[i] = sources[0][i] (kind) sources[1][i] ... for i < count. `target` may be one of the sources, or
// apart from all. REQUIRES: CheckReduction is OK; at least one source.
void Reduce(ElementType type, ReductionKind kind, absl::Span<const void* const> sources, void* target,
            int64_t count);

}  // namespace shoal

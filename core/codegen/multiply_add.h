// The inner step of dot and convolution. Internal to core/codegen.
#pragma once

#include "core/codegen/element.h"

namespace shoal {

// sum + x * y in registers of `type`. Sums of narrow floats are kept in f32: round once at the end.
Element MultiplyAdd(LaneBuilder& lanes, ElementType type, Element x, Element y, Element sum);
// An operand's element in registers of the result's type (bf16 x bf16 -> f32, s8 x s8 -> s32).
Element ToAccumulator(LaneBuilder& lanes, ElementType from, ElementType to, Element x);

}  // namespace shoal

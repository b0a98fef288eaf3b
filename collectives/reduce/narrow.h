// Arrays of narrow floats to f32 and back, fast: what reductions of bf16, f16, f8 and f4 go through. Rounds
// to nearest even; agrees with FloatFromBits and FloatToBits of core/types bit for bit, but for NaN payloads.
// Thread-safe.
#pragma once

#include <cstdint>

#include "core/types/element_type.h"

namespace shoal {

// REQUIRES IsNarrowFloat(type).
void WidenToFloat(ElementType type, const void* source, float* target, int64_t count);
void NarrowFromFloat(ElementType type, const float* source, void* target, int64_t count);

}  // namespace shoal

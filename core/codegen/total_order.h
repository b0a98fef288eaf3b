// Numbers as integers that compare the same way. Internal to core/codegen.
#pragma once

#include "core/codegen/lanes.h"

namespace shoal {

// Floats: -NaN < -inf < ... < -0 < 0 < ... < NaN, as signed integers of the same width.
llvm::Value* TotalOrderKey(LaneBuilder& lanes, llvm::Value* x);
// Any real type, as an unsigned integer of 32 bits, or 64 for 64-bit types.
llvm::Value* SortKey(LaneBuilder& lanes, ElementType type, llvm::Value* x);

}  // namespace shoal

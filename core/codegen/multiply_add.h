// The inner step of dot and convolution, and how its sums are cut. Internal to core/codegen.
#pragma once

#include "absl/functional/function_ref.h"
#include "core/codegen/element.h"

namespace shoal {

// sum + x * y in registers of `type`. Sums of narrow floats are kept in f32: round once at the end.
Element MultiplyAdd(LaneBuilder& lanes, ElementType type, Element x, Element y, Element sum);
// An operand's element in registers of the result's type (bf16 x bf16 -> f32, s8 x s8 -> s32).
Element ToAccumulator(LaneBuilder& lanes, ElementType from, ElementType to, Element x);
// `sums` and what `part(begin, end)` sums of each run of `run` indices below `extent`. A sum of floats loses
// as much as it is long, so runs are summed by themselves.
absl::StatusOr<Carried> EmitSumOfRuns(
    LaneBuilder& lanes, llvm::Value* extent, int64_t run, Carried sums,
    absl::FunctionRef<absl::StatusOr<Carried>(llvm::Value* begin, llvm::Value* end)> part);

}  // namespace shoal

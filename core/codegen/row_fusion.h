// CanBeRowKernel: which instructions one row kernel (row_kernel.cc) can compute, besides
// what kernel.h says of fusions.
//
//     m = reduce(x), dimensions={1}, max          one kernel that goes over each row of x
//     d = x - broadcast(m), dimensions={0}   ->   three times while it is in the first-level
//     e = exponential(d)                          cache: softmax
//     s = reduce(e), dimensions={1}, add
//     ROOT e / broadcast(s), dimensions={0}
//
// All reductions reduce the last dimension of arrays of the same dimensions, the rows. What depends on one is
// elementwise on rows, elementwise on their results, or puts a result back into its own row. What does not is
// elementwise work, broadcasts, reshapes and constants.
#pragma once

#include "absl/types/span.h"
#include "core/hlo/instruction.h"

namespace shoal {

// `inside`: operands first; `roots`, among them, are read by others.
bool CanBeRowKernel(absl::Span<Instruction* const> inside, absl::Span<Instruction* const> roots);
// Whether such a fusion does more than reduce: then it needs that kernel. False for any other instruction.
bool NeedsRowKernel(const Instruction& fusion);

}  // namespace shoal

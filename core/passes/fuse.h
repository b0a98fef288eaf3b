// Fuse: gathers instructions into fusions, each of which becomes one kernel.
//
//     a = exponential(x)                       fused { a = exponential(p0)
//     b = add(a, y)               ->                   ROOT b = add(a, p1) }
//     ROOT b                                   ROOT f = fusion(x, y), kind=kLoop
//
// An instruction is computed inside its users' kernels if that saves more memory traffic than it repeats
// work; otherwise it is the root of a kernel of its own. Constants of one element, iotas and broadcasts of
// scalars stand in every kernel that needs them. A dynamic-update-slice stays a root, so that it can write
// into its operand. Works on every computation that control flow reaches. Deterministic.
#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "core/hlo/instruction.h"

namespace shoal {

// What the code generator can do, and what it costs.
struct FusionModel {
  std::function<bool(const Instruction&)> can_fuse;           // may stand inside a fusion
  std::function<double(const Instruction&)> element_cost_ns;  // of one element, operands at hand
  // Whether one kernel can reduce rows and use the results on them (`inside`: operands first). Null: none.
  std::function<bool(absl::Span<Instruction* const> inside, absl::Span<Instruction* const> roots)>
      can_be_row_kernel = nullptr;
};

// True if something changed.
absl::StatusOr<bool> Fuse(Module& module, const FusionModel& model);

}  // namespace shoal

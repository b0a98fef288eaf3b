// EmitKernel: one fusion, or one instruction, becomes native code that computes its outputs from its
// operands.
//
// The contract between core/codegen (what happens inside a kernel) and core/lower (which instructions form
// one, where their buffers lie, when it runs).
//
// Buffers. A kernel gets `char* const* buffers`: one pointer for every array leaf of its operands, in order,
// then one for every array leaf of its result, then the scratch block if `scratch_bytes` is not 0
// (uninitialised, 64-byte aligned). Arrays are row-major, ByteWidth bytes an element; pointers are aligned to
// the element at least, to 64 bytes where that is possible. A fusion has one operand for every parameter of
// its computation.
//
// Phases. A kernel is one or more phases which run one after the other. A phase is a native function over
// units: the calls for [begin, end) may cover [0, units) in any split, in any order and at once; the bits of
// the result do not depend on the split. Or it is a routine, called once, which splits its own work.
//
// Aliasing. An output may share its memory with an operand only if MayShareBuffer says so, and then exactly
// (same address, not overlapping). Nothing else may overlap an output.
//
// What may stand in a fusion (CanFuse tells of one instruction):
//  - elementwise operations, constants (the big ones are better operands), iota, broadcast, reshape,
//    transpose, slice, reverse, pad, concatenate, dynamic-slice, dynamic-update-slice, gather, convert,
//    bitcast-convert, reduce, and get-tuple-element of a reduce with several results;
//  - the root is one of these, or a tuple of such roots which all have the same dimensions (multi-output), or
//    whose reduces all have the same operand dimensions and the same reduced dimensions;
//  - best: at most one reduce on any path, with elementwise operations before and after it (the hero's loops
//    are vectorised and split; a reduce elsewhere is recomputed for every element that reads it);
//  - a dynamic-update-slice at the root is done in place if operand 0 is a parameter and shares its buffer
//    with the output: only the window is written. Its other operands may be fused; they must not read that
//    parameter but at the same window, which the caller has to ensure (a kernel reads the update before it
//    writes).
// Anything else is emitted alone: EmitKernel(instruction).
//
// EmitKernel on an instruction that has no emitter gives Unimplemented naming it. Not thread-safe for one
// builder; different builders are independent.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace shoal {

class Instruction;
class ModuleBuilder;

// A native phase. `buffers` is the table described above.
using KernelFunction = void (*)(char* const* buffers, int64_t begin, int64_t end);

// Work done by a library (matrix product, convolution, sort). Immutable, thread-safe; Run may use the whole
// arena and returns when the work is done.
class Routine {
 public:
  virtual ~Routine() = default;
  virtual absl::Status Run(char* const* buffers) const = 0;
};

struct KernelPhase {
  std::string function;                    // symbol in the builder's module; empty for a routine
  KernelFunction address = nullptr;        // of that symbol, once somebody has loaded the code
  std::shared_ptr<const Routine> routine;  // null for a native phase
  int64_t units = 1;                       // 0 is possible (no elements): nothing to call
  int64_t grain = 1;                       // units that are worth a task of their own; 1 <= grain
  double cost_ns = 0;                      // estimate for all units on one core
};

struct Kernel {
  std::vector<KernelPhase> phases;  // none for a kernel without work
  int64_t scratch_bytes = 0;
  double cost_ns() const;
};

// `name` must be unique in the builder's module; phases are named after it.
absl::StatusOr<Kernel> EmitKernel(const Instruction& fusion_or_op, const std::string& name,
                                  ModuleBuilder& builder);

// Whether `op` can stand inside a fused computation (its operands computed in place, its value by element).
bool CanFuse(const Instruction& op);
// Estimated nanoseconds for one element of `op` itself, vectorised, operands at hand: 0.05 for an add, 1 for
// a power. An op worth more than ~0.5 should not be computed twice.
double ElementCostNs(const Instruction& op);
// Whether the array leaf `output` of the result may lie exactly on the array leaf `operand` of the operands
// (both counted over leaves, as in `buffers`).
bool MayShareBuffer(const Instruction& fusion_or_op, int64_t operand, int64_t output);

}  // namespace shoal

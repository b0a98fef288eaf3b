// EmitSequence: many kernels, loops and branches in one native function, so that a whole while or scan body
// runs without the executor. Kernels may be emitted into the same module or be loaded before.
//
// A sequence works on `bases`, a table of memory blocks that the caller has laid out; each kernel buffer is a
// base plus a constant offset. Steps run in order on the calling thread; a phase whose cost passes
// kParallelNs is handed to SequenceRuntime::parallel_for, which returns when it is done. A routine that fails
// stops the sequence.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "core/codegen/kernel.h"

namespace shoal {

// Below this a phase runs at once on the calling thread: handing it out would cost more.
inline constexpr double kParallelNs = 40000;

// bases[base] + offset.
struct BufferRef {
  int32_t base = 0;
  int64_t offset = 0;
};

// What generated code calls back. Plain functions and pointers, for the generated code reads the fields by
// offset.
struct SequenceRuntime {
  void (*parallel_for)(SequenceRuntime* self, KernelFunction fn, char* const* buffers, int64_t units,
                       int64_t grain);
  // Runs routines[index]; not 0 means failed (the status is kept by `self`).
  int64_t (*run_routine)(SequenceRuntime* self, int64_t index, char* const* buffers);
  // Asked once an iteration of every loop; not 0 ends the sequence (the run was aborted).
  int64_t (*should_stop)(SequenceRuntime* self);
};

// 0, or what a runtime function answered.
using SequenceFunction = int64_t (*)(char* const* bases, SequenceRuntime* runtime);

struct SequenceStep;
using SequenceBlock = std::vector<SequenceStep>;

struct KernelCall {
  const Kernel* kernel = nullptr;  // of the same builder, or loaded before this one
  std::vector<BufferRef> buffers;  // operands, outputs, scratch if any
};
struct CopyBytes {
  BufferRef from, to;
  int64_t bytes = 0;  // ranges do not overlap, or are equal
};
struct WhileLoop {
  SequenceBlock condition;  // leaves a pred in `predicate`
  BufferRef predicate;
  SequenceBlock body;
};
// A loop known to run `trips` times.
struct CountedLoop {
  int64_t trips = 0;
  SequenceBlock body;
};
struct Branch {
  BufferRef index;       // an s32 (out of range: the last branch), or
  bool is_pred = false;  // a pred: true is branch 0, false branch 1
  std::vector<SequenceBlock> branches;
};

struct SequenceStep {
  std::variant<KernelCall, CopyBytes, WhileLoop, CountedLoop, Branch> step;
};

// Emits function `name`, a SequenceFunction. Appends the routines that it calls to `routines`; run_routine
// gets their index there.
absl::Status EmitSequence(const std::string& name, const SequenceBlock& steps, ModuleBuilder& builder,
                          std::vector<const Routine*>& routines);

}  // namespace shoal

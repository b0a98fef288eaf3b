// NativeStep: a straight run of native code on the thread that starts it: kernels, and functions for the
// loops and branches between them (core/codegen/sequence.h).
//
// The run is a list, not a function made by LLVM: a list of a thousand calls costs nothing to compile, and
// its calls are the same ones.
#pragma once

#include <string>
#include <vector>

#include "core/codegen/sequence.h"
#include "core/runtime/step.h"

namespace shoal {

// One entry of the list. The program keeps the code and the routines alive.
struct NativeCall {
  enum class Kind : uint8_t {
    kKernel,          // kernel(table + first, 0, count)
    kParallelKernel,  // the same in pieces of at least `grain`
    kRoutine,
    kControl,
    kCopy,  // `count` bytes from the table's entry `first` to the next one
  };
  Kind kind;
  int32_t first = 0;  // position of its buffers in the step's table; a control function has none
  KernelFunction kernel = nullptr;
  const Routine* routine = nullptr;
  SequenceFunction control = nullptr;
  const Routine* const* routines = nullptr;  // of `control`, by the index that it uses
  int64_t count = 0, grain = 1;
};

class NativeStep : public Step {
 public:
  NativeStep(std::string name, std::vector<SliceUse> uses, std::vector<BufferRef> table,
             std::vector<NativeCall> calls, double cost_ns)
      : Step(std::move(name), std::move(uses)),
        table_(std::move(table)),
        calls_(std::move(calls)),
        cost_ns_(cost_ns) {}

  Future Start(RunState& run) const override { return Future(Run(run)); }
  double cost_ns() const override { return cost_ns_; }

 private:
  absl::Status Run(RunState& run) const;

  const std::vector<BufferRef> table_;
  const std::vector<NativeCall> calls_;
  const double cost_ns_;
};

}  // namespace shoal

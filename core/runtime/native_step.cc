#include "core/runtime/native_step.h"

#include <cstring>

#include "absl/container/inlined_vector.h"
#include "core/base/status.h"
#include "core/tasks/arena.h"

namespace shoal {
namespace {

// What generated code calls back, with what the callbacks need.
struct Runtime : SequenceRuntime {
  const RunState* run = nullptr;
  const Routine* const* routines = nullptr;
  absl::Status status;
};

void ParallelFor(SequenceRuntime*, KernelFunction kernel, char* const* buffers, int64_t units,
                 int64_t grain) {
  Arena::Get().ParallelFor(units, grain, [&](int64_t begin, int64_t end) { kernel(buffers, begin, end); });
}

int64_t RunRoutine(SequenceRuntime* self, int64_t index, char* const* buffers) {
  Runtime& runtime = *static_cast<Runtime*>(self);
  runtime.status = runtime.routines[index]->Run(buffers);
  return runtime.status.ok() ? 0 : 1;
}

int64_t ShouldStop(SequenceRuntime* self) { return static_cast<Runtime*>(self)->run->failed() ? 1 : 0; }

absl::Status RunControl(const NativeCall& call, RunState& run) {
  Runtime runtime;
  runtime.parallel_for = ParallelFor;
  runtime.run_routine = RunRoutine;
  runtime.should_stop = ShouldStop;
  runtime.run = &run;
  runtime.routines = call.routines;
  if (call.control(run.bases(), &runtime) == 0) return absl::OkStatus();
  return runtime.status.ok() ? run.status() : runtime.status;
}

}  // namespace

absl::Status NativeStep::Run(RunState& run) const {
  absl::InlinedVector<char*, 48> table(table_.size());
  for (size_t i = 0; i < table_.size(); ++i) table[i] = run.bases()[table_[i].base] + table_[i].offset;
  for (const NativeCall& call : calls_) {
    char* const* buffers = table.data() + call.first;
    switch (call.kind) {
      case NativeCall::Kind::kKernel:
        call.kernel(buffers, 0, call.count);
        break;
      case NativeCall::Kind::kParallelKernel:
        ParallelFor(nullptr, call.kernel, buffers, call.count, call.grain);
        break;
      case NativeCall::Kind::kRoutine:
        SHOAL_RETURN_IF_ERROR(call.routine->Run(buffers));
        break;
      case NativeCall::Kind::kControl:
        SHOAL_RETURN_IF_ERROR(RunControl(call, run));
        break;
      case NativeCall::Kind::kCopy:
        std::memmove(buffers[1], buffers[0], call.count);
        break;
    }
  }
  return absl::OkStatus();
}

}  // namespace shoal

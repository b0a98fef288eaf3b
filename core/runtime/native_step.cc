#include "core/runtime/native_step.h"

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

}  // namespace

absl::Status NativeStep::Run(RunState& run) const {
  Runtime runtime;
  runtime.parallel_for = ParallelFor;
  runtime.run_routine = RunRoutine;
  runtime.should_stop = ShouldStop;
  runtime.run = &run;
  runtime.routines = routines_.data();
  if (function_(run.bases(), &runtime) == 0) return absl::OkStatus();
  return runtime.status.ok() ? run.status() : runtime.status;
}

}  // namespace shoal

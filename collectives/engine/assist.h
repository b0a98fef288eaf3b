// RunAssisted: a loop on the calling thread in which idle workers of the arena help.
//
// Unlike Arena::ParallelFor it never waits for a worker to become free: if all of them compute for long, the
// caller does everything itself. So the owner of progress may use it.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace shoal {

// Calls body(i) for every i in [0, count), on this thread and at most `helpers` workers; returns when all are
// done. `body` is called by several threads at once and must be short.
void RunAssisted(int64_t count, int helpers, absl::FunctionRef<void(int64_t)> body);

}  // namespace shoal

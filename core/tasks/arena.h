// Arena: the worker threads of this process. The only code of Shoal that sees oneTBB is behind this header.
//
// One arena a process, sized from SHOAL_THREADS, or else from the cores that cgroup, affinity and mpirun's
// binding leave it. Workers never wait for the network, a callback or another device: a task that has to wait
// returns, and a Future's callback schedules the rest. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/functional/function_ref.h"

namespace shoal {

class Arena {
 public:
  // The process's arena, made at the first call; never destroyed.
  static Arena& Get();

  // Workers, the caller of ParallelFor included; at least 1.
  int size() const;

  // Runs `task` on a worker, soon, in no order. Never runs it on the caller's thread.
  void Submit(std::function<void()> task);

  // Calls body(begin, end) over pieces of [0, count) of at least `grain`, in parallel, and returns when all
  // are done. The caller works too. Nested calls are fine; a single piece runs inline. `body` must not block.
  void ParallelFor(int64_t count, int64_t grain, absl::FunctionRef<void(int64_t begin, int64_t end)> body);

 private:
  Arena();
  struct Impl;
  Impl* impl_;
};

// Cores that this process may use: the least of affinity mask, cgroup quota (v1 and v2) and SHOAL_THREADS.
int AvailableCores();

}  // namespace shoal

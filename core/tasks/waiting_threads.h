// WaitingThreads: threads for work that may wait: host callbacks, which wait for Python's lock and may run
// programs themselves. Workers of the arena must not.
//
// A thread is added whenever none is free, so work never waits for other work; free threads are kept.
// Thread-safe; never destroyed.
#pragma once

#include <functional>

namespace shoal {

class WaitingThreads {
 public:
  static WaitingThreads& Get();

  // Runs `task` soon, on a thread that may block as long as it likes. `task` must not throw.
  void Submit(std::function<void()> task);

  // Whether the calling thread is one of them. What it starts must not wait for room behind the program that
  // waits for it.
  static bool IsOne();

 private:
  WaitingThreads() = default;
  struct Impl;
  Impl& impl() const;
};

}  // namespace shoal

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

 private:
  WaitingThreads();
  struct Impl;
  Impl* const impl_;
};

// While one lives, the thread that made it is at work that may wait, on whichever thread that is. What such
// work starts must not wait for room behind the program that waits for it.
class WaitingWork {
 public:
  WaitingWork();
  ~WaitingWork();
  WaitingWork(const WaitingWork&) = delete;
  WaitingWork& operator=(const WaitingWork&) = delete;
  static bool IsUnderWay();

 private:
  const bool before_;
};

// While one lives, what is called below it may wait on this thread: nobody else needs it. So a program goes
// on where its callback has ended, and its next callback is called there as well, without a change of
// threads. Each change costs microseconds on a quiet machine and milliseconds on a busy one: beside forty
// others on two cores a pure_callback took 9.2 ms, and 1.4 since (jaxlib 1.2); one in a loop 8.0 ms, and 0.8
// (jaxlib 0.6).
class WaitHere {
 public:
  explicit WaitHere(bool may = true);
  ~WaitHere();
  WaitHere(const WaitHere&) = delete;
  WaitHere& operator=(const WaitHere&) = delete;
  // Whether the caller may wait; and those that it calls may not, unless it makes another offer.
  static bool Take();

 private:
  const bool before_;
};

}  // namespace shoal

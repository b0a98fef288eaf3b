// What handlers schedule on XLA's thread pool.
//
// Handlers wait for their tasks, so those are on threads that may wait (core/tasks/waiting_threads.h): on the
// arena's workers they would wait in turn for the workers that wait. There are at most about as many threads
// as a handler is told; a handler of a large sparse product schedules thousands of tasks. Thread-safe; never
// destroyed.
#pragma once

#include <deque>
#include <functional>
#include <mutex>

namespace shoal {

class HandlerTasks {
 public:
  static HandlerTasks& Get();
  // What a handler is told.
  int num_threads() const;
  // Runs `task`, which must not throw, after those that came before it have begun; before it returns, where
  // the system gives no thread.
  void Submit(std::function<void()> task);

 private:
  void Work();

  std::mutex mutex_;
  std::deque<std::function<void()>> tasks_;  // guarded by mutex_
  int working_ = 0;                          // threads in Work; guarded by mutex_
};

}  // namespace shoal

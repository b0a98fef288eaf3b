#include "plugin/ffi/handler_tasks.h"

#include <algorithm>
#include <utility>

#include "core/tasks/arena.h"
#include "core/tasks/waiting_threads.h"

namespace shoal {
namespace {

// A task may wait for one that comes after it, as far as XLA's pool would let it on a machine of four cores.
constexpr int kLeastThreads = 4;

}  // namespace

HandlerTasks& HandlerTasks::Get() {
  static auto* const tasks = new HandlerTasks;
  return *tasks;
}

int HandlerTasks::num_threads() const { return Arena::Get().size(); }

void HandlerTasks::Submit(std::function<void()> task) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    tasks_.push_back(std::move(task));
    if (working_ >= std::max(kLeastThreads, num_threads())) return;
    ++working_;
  }
  try {
    WaitingThreads::Get().Submit([this] { Work(); });
  } catch (...) {  // the system gives no thread: the handler runs what waits itself
    Work();
  }
}

void HandlerTasks::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!tasks_.empty()) {
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
  --working_;
}

}  // namespace shoal

#include "core/tasks/waiting_threads.h"

#include <pthread.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <utility>

#include "core/tasks/thread_stack.h"

namespace shoal {
namespace {

thread_local bool is_waiting_work = false, may_wait_here = false;

}  // namespace

struct WaitingThreads::Impl {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> tasks;  // guarded by mutex
  size_t threads = 0;                       // guarded by mutex
  size_t free = 0;                          // threads that wait for a task; guarded by mutex

  void Work() {
    std::unique_lock<std::mutex> lock(mutex);
    while (true) {
      ++free;
      changed.wait(lock, [this] { return !tasks.empty(); });
      --free;
      {
        std::function<void()> task = std::move(tasks.front());
        tasks.pop_front();
        lock.unlock();
        task();
      }
      lock.lock();
    }
  }
};

// Starts a detached thread in all->Work(). Returns 0 or an errno. Not a std::thread: its stack has no size to
// set.
int WaitingThreads::StartThread(Impl* all) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kThreadStackBytes);
  pthread_t thread;
  const int error = pthread_create(
      &thread, &attributes,
      [](void* all) -> void* {
        static_cast<Impl*>(all)->Work();
        return nullptr;
      },
      all);
  pthread_attr_destroy(&attributes);
  return error;
}

WaitingThreads& WaitingThreads::Get() {
  static auto* const threads = new WaitingThreads;
  return *threads;
}

WaitingThreads::Impl& WaitingThreads::impl() const {
  static auto* const impl = new Impl;
  return *impl;
}

void WaitingThreads::Submit(std::function<void()> task) {
  Impl& all = impl();
  std::lock_guard<std::mutex> lock(all.mutex);
  all.tasks.push_back(std::move(task));
  if (all.tasks.size() <= all.free) {
    all.changed.notify_one();
    return;
  }
  if (const int error = StartThread(&all); error == 0) {
    ++all.threads;
  } else if (all.threads == 0) {
    all.tasks.pop_back();
    throw std::system_error(error, std::generic_category(), "a thread for host callbacks");
  }
  // Else the system gives no more threads: one that is there takes the task after its own.
}

WaitingWork::WaitingWork() : before_(std::exchange(is_waiting_work, true)) {}
WaitingWork::~WaitingWork() { is_waiting_work = before_; }
bool WaitingWork::IsUnderWay() { return is_waiting_work; }

WaitHere::WaitHere(bool may) : before_(std::exchange(may_wait_here, may)) {}
WaitHere::~WaitHere() { may_wait_here = before_; }
bool WaitHere::Take() { return std::exchange(may_wait_here, false); }

}  // namespace shoal

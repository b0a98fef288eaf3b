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

  // Starts a detached thread in Work. Returns 0 or an errno. Not a std::thread: its stack has no size to set.
  int StartThread();
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

int WaitingThreads::Impl::StartThread() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kThreadStackBytes);
  pthread_t thread;
  const int error = pthread_create(
      &thread, &attributes,
      [](void* impl) -> void* {
        static_cast<Impl*>(impl)->Work();
        return nullptr;
      },
      this);
  pthread_attr_destroy(&attributes);
  return error;
}

WaitingThreads::WaitingThreads() : impl_(new Impl) {}

WaitingThreads& WaitingThreads::Get() {
  static auto* const threads = new WaitingThreads;
  return *threads;
}

void WaitingThreads::Submit(std::function<void()> task) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->tasks.push_back(std::move(task));
  if (impl_->tasks.size() <= impl_->free) {
    impl_->changed.notify_one();
    return;
  }
  if (const int error = impl_->StartThread(); error == 0) {
    ++impl_->threads;
  } else if (impl_->threads == 0) {
    impl_->tasks.pop_back();
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

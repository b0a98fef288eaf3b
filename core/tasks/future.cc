#include "core/tasks/future.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

namespace shoal {

// std::mutex rather than absl::Mutex: Debian's abseil is not built for thread sanitizer, which then sees no
// order between the two sides of a future.
struct Future::State {
  std::atomic<bool> ready{false};
  std::mutex mutex;
  std::condition_variable changed;
  absl::Status status;                                              // written before `ready`, never after
  std::vector<std::function<void(const absl::Status&)>> callbacks;  // guarded by `mutex`; empty once ready

  bool Set(absl::Status new_status) {
    std::vector<std::function<void(const absl::Status&)>> to_call;
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (ready.load(std::memory_order_relaxed)) return false;
      status = std::move(new_status);
      to_call.swap(callbacks);
      ready.store(true, std::memory_order_release);
      changed.notify_all();
    }
    for (auto& callback : to_call) callback(status);
    return true;
  }
};

Future::Future(absl::Status status) {
  if (status.ok()) return;
  state_ = std::make_shared<State>();
  state_->status = std::move(status);
  state_->ready.store(true, std::memory_order_release);
}

bool Future::IsReady() const { return state_ == nullptr || state_->ready.load(std::memory_order_acquire); }

const absl::Status& Future::status() const {
  static const absl::Status* const kOk = new absl::Status();
  return state_ == nullptr ? *kOk : state_->status;
}

void Future::Then(std::function<void(const absl::Status&)> callback) const {
  if (!IsReady()) {
    std::lock_guard<std::mutex> lock(state_->mutex);
    if (!state_->ready.load(std::memory_order_relaxed)) {
      state_->callbacks.push_back(std::move(callback));
      return;
    }
  }
  callback(status());
}

absl::Status Future::Await() const {
  if (!IsReady()) {
    std::unique_lock<std::mutex> lock(state_->mutex);
    state_->changed.wait(lock, [this] { return state_->ready.load(std::memory_order_relaxed); });
  }
  return status();
}

bool Future::AwaitFor(absl::Duration timeout) const {
  if (IsReady()) return true;
  // A year is for ever; beyond it the clock's arithmetic would overflow.
  const auto limit = absl::ToChronoNanoseconds(std::min(timeout, absl::Hours(24 * 365)));
  std::unique_lock<std::mutex> lock(state_->mutex);
  return state_->changed.wait_for(lock, limit,
                                  [this] { return state_->ready.load(std::memory_order_relaxed); });
}

Promise::Promise() : state_(std::make_shared<Future::State>()) {}

Promise& Promise::operator=(Promise&& other) {
  if (this != &other) {
    Promise dropped(std::move(*this));
    state_ = std::move(other.state_);
  }
  return *this;
}

Promise::~Promise() {
  if (state_ == nullptr || state_->ready.load(std::memory_order_acquire)) return;
  state_->Set(absl::InternalError("a promise was dropped without a result; please report this"));
}

Future Promise::future() const { return Future(state_); }

bool Promise::Set(absl::Status status) {
  // The callbacks may drop the last owner of this promise.
  std::shared_ptr<Future::State> state = state_;
  return state->Set(std::move(status));
}

namespace {

struct Joined {
  explicit Joined(size_t count) : pending(count), statuses(count) {}
  std::atomic<size_t> pending;
  std::vector<absl::Status> statuses;  // each written by one callback
  Promise promise;
};

absl::Status FirstError(absl::Span<const absl::Status> statuses) {
  for (const absl::Status& status : statuses) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

Future Join(absl::Span<const Future> futures) {
  bool all_ok = true;
  for (const Future& future : futures) all_ok = all_ok && future.IsReady() && future.status().ok();
  if (all_ok) return Future();
  auto joined = std::make_shared<Joined>(futures.size());
  for (size_t i = 0; i < futures.size(); ++i) {
    futures[i].Then([joined, i](const absl::Status& status) {
      joined->statuses[i] = status;
      if (joined->pending.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
      joined->promise.Set(FirstError(joined->statuses));
    });
  }
  return joined->promise.future();
}

}  // namespace shoal

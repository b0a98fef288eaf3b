// Future and Promise: the one way in which results come back up. A future tells that something has ended, and
// how.
//
// The data itself lies in buffers that both sides know; the future carries only an absl::Status. Copies share
// the state. All calls are thread-safe. A callback given to Then runs once, on the thread that sets the
// promise (or at once, on the caller's, if the future is ready already); it must not block and must not
// throw. A promise that is dropped without being set gives an Internal error, so nobody waits for ever on a
// bug.
#pragma once

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace shoal {

class Future {
 public:
  Future() : Future(absl::OkStatus()) {}
  // Ready from the start.
  Future(absl::Status status);  // NOLINT: a status is a future that has ended

  bool IsReady() const;
  // REQUIRES: IsReady().
  const absl::Status& status() const;
  void Then(std::function<void(const absl::Status&)> callback) const;
  // Blocks. Never call it on a worker of the arena: only callers' own threads may wait.
  absl::Status Await() const;
  // False if it is not ready within `timeout`.
  bool AwaitFor(absl::Duration timeout) const;

 private:
  friend class Promise;
  struct State;
  explicit Future(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;  // null: ready and OK, without an allocation
};

// Movable, set exactly once; a second Set is ignored and returns false.
class Promise {
 public:
  Promise();
  Promise(Promise&&) = default;
  Promise& operator=(Promise&&);  // drops what it held
  ~Promise();

  Future future() const;
  bool Set(absl::Status status);

 private:
  std::shared_ptr<Future::State> state_;
};

// Ready when all are, with the first error in the order of `futures`.
Future Join(absl::Span<const Future> futures);

}  // namespace shoal

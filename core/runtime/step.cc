#include "core/runtime/step.h"

#include "core/base/timeline.h"

namespace shoal {

TimelineRow Step::row() const { return TimelineRow::kComputation; }

void RunState::Fail(const absl::Status& status) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (failed_.load(std::memory_order_relaxed)) return;
    status_ = status;
    failed_.store(true, std::memory_order_release);
  }
  if (context_.communicator != nullptr) context_.communicator->Abort(context_.run, status);
  if (context_.host_transfers != nullptr) context_.host_transfers->Abort(status);
}

absl::Status RunState::status() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return status_;
}

}  // namespace shoal

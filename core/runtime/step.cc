#include "core/runtime/step.h"

#include <algorithm>

#include "core/base/timeline.h"
#include "core/runtime/collective_order.h"

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

bool RunState::Precludes(int64_t at, int64_t number, int64_t instance, int64_t group) const {
  const CollectiveOp* op = FindCollective(plan_, number);
  if (op == nullptr || !NeverAtOnce(plan_, at, number) || instances_[number] > instance) return false;
  // Permutes have one group, of all.
  if (op->groups.empty() || op->kind == CollectiveKind::kCollectivePermute) return group == 0;
  if (group < 0 || group >= static_cast<int64_t>(op->groups.size())) return false;
  const std::vector<PartitionId>& members = op->groups[group];
  return std::find(members.begin(), members.end(), context_.partition) != members.end();
}

absl::Status RunState::status() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return status_;
}

}  // namespace shoal

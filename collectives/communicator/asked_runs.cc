#include "collectives/communicator/asked_runs.h"

#include <iterator>

namespace shoal {
namespace {

// Several MiB.
constexpr size_t kRangesKept = 1 << 16;

}  // namespace

void AskedRuns::Add(int64_t run) {
  if (recent_ != ranges_.end() && recent_->first <= run && run <= recent_->second) return;
  const auto next = ranges_.upper_bound(run);
  const bool touches_next = next != ranges_.end() && next->first == run + 1;
  if (next != ranges_.begin()) {
    recent_ = std::prev(next);
    if (run <= recent_->second) return;
    if (run == recent_->second + 1) {
      recent_->second = touches_next ? next->second : run;
      if (touches_next) ranges_.erase(next);
      return;
    }
  }
  const int64_t last = touches_next ? next->second : run;
  if (touches_next) ranges_.erase(next);
  recent_ = ranges_.emplace(run, last).first;
  if (ranges_.size() <= kRangesKept) return;
  has_forgotten_ = true;
  ranges_.erase(recent_ == ranges_.begin() ? std::next(recent_) : ranges_.begin());
}

bool AskedRuns::MayContain(int64_t run) const {
  const auto next = ranges_.upper_bound(run);
  return has_forgotten_ || (next != ranges_.begin() && run <= std::prev(next)->second);
}

}  // namespace shoal

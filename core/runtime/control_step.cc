#include "core/runtime/control_step.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "core/base/timeline.h"
#include "core/tasks/arena.h"
#include "core/tasks/waiting_threads.h"

namespace shoal {
namespace {

void AddUses(const Plan& plan, std::vector<SliceUse>& uses) {
  const std::vector<SliceUse> of_plan = plan.Uses();
  uses.insert(uses.end(), of_plan.begin(), of_plan.end());
}

std::vector<SliceUse> Together(const Plan& condition, const Plan& body, const Slice& predicate,
                               absl::Span<const SliceUse> order) {
  std::vector<SliceUse> uses(order.begin(), order.end());
  uses.push_back({predicate, false});
  AddUses(condition, uses);
  AddUses(body, uses);
  return uses;
}

std::vector<SliceUse> Together(const std::vector<Plan>& branches, const Slice& selector,
                               absl::Span<const SliceUse> order) {
  std::vector<SliceUse> uses(order.begin(), order.end());
  uses.push_back({selector, false});
  for (const Plan& branch : branches) AddUses(branch, uses);
  return uses;
}

}  // namespace

// One run of a loop. Plans that end at once are taken in a plain loop, so the stack does not grow with
// iterations.
class WhileRun : public std::enable_shared_from_this<WhileRun> {
 public:
  WhileRun(const WhileStep& step, RunState& run) : step_(step), run_(run) {}

  Future future() const { return promise_.future(); }

  // `may_wait`: the parts may wait on this thread.
  void Continue(bool may_wait) {
    while (true) {
      const Future future = StartPart(may_wait);
      if (!future.IsReady()) {
        future.Then([self = shared_from_this()](const absl::Status& status) {
          const bool may_wait = WaitHere::Take();
          if (!self->Ended(status, may_wait)) return;
          if (may_wait) return self->Continue(true);
          // The thread that tells us may be the network's: it is not ours to work on.
          Arena::Get().Submit([self] { self->Continue(false); });
        });
        return;
      }
      if (!Ended(future.status(), may_wait)) return;
    }
  }

 private:
  Future StartPart(bool may_wait) const {
    const WaitHere offer(may_wait);
    return (in_body_ ? step_.body_ : step_.condition_).Start(run_);
  }

  // The part under way has ended: sets what is next; false if that is nothing.
  bool Ended(const absl::Status& status, bool may_wait) {
    const WaitHere offer(may_wait);
    if (!status.ok() || run_.failed()) {
      promise_.Set(status.ok() ? run_.status() : status);
      return false;
    }
    if (!in_body_ && *run_.At(step_.predicate_) == 0) {
      promise_.Set(absl::OkStatus());
      return false;
    }
    in_body_ = !in_body_;
    return true;
  }

  const WhileStep& step_;
  RunState& run_;
  bool in_body_ = false;
  Promise promise_;
};

WhileStep::WhileStep(std::string name, Plan condition, Slice predicate, Plan body,
                     absl::Span<const SliceUse> order)
    : Step(std::move(name), Together(condition, body, predicate, order)),
      condition_(std::move(condition)),
      body_(std::move(body)),
      predicate_(predicate) {}

// Around the rows of what is inside.
TimelineRow WhileStep::row() const { return TimelineRow::kPrograms; }
TimelineRow ConditionalStep::row() const { return TimelineRow::kPrograms; }

Future WhileStep::Start(RunState& run) const {
  auto loop = std::make_shared<WhileRun>(*this, run);
  Future future = loop->future();
  loop->Continue(WaitHere::Take());
  return future;
}

ConditionalStep::ConditionalStep(std::string name, Slice selector, bool is_pred, std::vector<Plan> branches,
                                 absl::Span<const SliceUse> order)
    : Step(std::move(name), Together(branches, selector, order)),
      selector_(selector),
      is_pred_(is_pred),
      branches_(std::move(branches)) {}

std::vector<const Plan*> ConditionalStep::parts() const {
  std::vector<const Plan*> parts;
  for (const Plan& branch : branches_) parts.push_back(&branch);
  return parts;
}

bool ConditionalStep::CallsOut() const {
  return std::any_of(branches_.begin(), branches_.end(), [](const Plan& plan) { return plan.CallsOut(); });
}

Future ConditionalStep::Start(RunState& run) const {
  size_t branch;
  if (is_pred_) {
    branch = *run.At(selector_) != 0 ? 0 : 1;
  } else {
    int32_t index;
    std::memcpy(&index, run.At(selector_), sizeof index);
    branch = index < 0 || index >= static_cast<int32_t>(branches_.size()) ? branches_.size() - 1 : index;
  }
  return branches_[branch].Start(run);
}

}  // namespace shoal

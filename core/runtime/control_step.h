// WhileStep and ConditionalStep: control flow around steps that are not native code (collectives, custom
// calls).
//
// Loops and branches without such steps are part of a NativeStep. These here run a plan for the condition,
// body or branch, and go on when its future is set; no thread waits in between.
#pragma once

#include <string>
#include <vector>

#include "core/runtime/plan.h"
#include "core/runtime/step.h"

namespace shoal {

class WhileStep : public Step {
 public:
  // `condition` leaves a pred in `predicate`. `order`: what its tokens stand for.
  WhileStep(std::string name, Plan condition, Slice predicate, Plan body,
            absl::Span<const SliceUse> order = {});

  Future Start(RunState& run) const override;
  std::vector<const Plan*> parts() const override { return {&condition_, &body_}; }
  TimelineRow row() const override;
  bool CallsOut() const override { return condition_.CallsOut() || body_.CallsOut(); }
  double cost_ns() const override { return 1e6; }

 private:
  friend class WhileRun;
  const Plan condition_, body_;
  const Slice predicate_;
};

class ConditionalStep : public Step {
 public:
  // `selector` holds an s32 (out of range: the last branch) or a pred (true: branch 0). `order`: what its
  // tokens stand for.
  ConditionalStep(std::string name, Slice selector, bool is_pred, std::vector<Plan> branches,
                  absl::Span<const SliceUse> order = {});

  Future Start(RunState& run) const override;
  std::vector<const Plan*> parts() const override;
  TimelineRow row() const override;
  bool CallsOut() const override;
  double cost_ns() const override { return 1e6; }

 private:
  const Slice selector_;
  const bool is_pred_;
  const std::vector<Plan> branches_;
};

}  // namespace shoal

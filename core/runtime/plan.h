// Plan: steps, and the order that their uses of memory demand.
//
// Steps are given in an order in which they could run one after another. Step b waits for step a before it
// only if one writes what the other touches; everything else may run at once. Steps that become ready run in
// the arena, asynchronous ones are started first. The first error is kept in the RunState; steps not yet
// started are then passed over, and the plan's future is set when those under way have ended. Immutable; any
// number of runs at once.
#pragma once

#include <memory>
#include <vector>

#include "core/runtime/step.h"
#include "core/tasks/future.h"

namespace shoal {

class Plan {
 public:
  explicit Plan(std::vector<std::unique_ptr<Step>> steps);
  Plan(Plan&&) = default;
  Plan& operator=(Plan&&) = default;

  // Runs on the calling thread what is ready, and returns: never waits. `run` and the plan outlive the
  // future.
  Future Start(RunState& run) const;

  absl::Span<const std::unique_ptr<Step>> steps() const { return steps_; }
  // Positions of the steps that wait for step i directly.
  absl::Span<const int> successors(int i) const { return successors_[i]; }
  // Whether a later step writes what step i uses.
  bool IsWrittenAfter(int i) const;
  double cost_ns() const;
  bool CallsOut() const;  // one of its steps does
  // What all steps use, for a step that contains this plan.
  std::vector<SliceUse> Uses() const;

 private:
  friend class PlanRun;
  std::vector<std::unique_ptr<Step>> steps_;
  std::vector<std::vector<int>> successors_;
  std::vector<int> waits_for_;  // number of predecessors
  std::vector<int> roots_;
};

}  // namespace shoal

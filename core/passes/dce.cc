#include "core/passes/dce.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/hlo/effects.h"
#include "core/passes/loop_state.h"

namespace shoal {
namespace {

// Whether someone outside, or the loop itself, can see the loop's element i; worked out from the body's
// dependencies.
class LiveElements {
 public:
  explicit LiveElements(const LoopState& state) : state_(state), live_(state.size, false) {
    for (const Instruction* user : state.loop->users()) MarkElement(user->tuple_index());
    for (const Instruction* user : state.condition->parameter(0)->users()) {
      if (!user->users().empty() || user == state.condition->root()) MarkElement(user->tuple_index());
    }
    for (Instruction* instruction : state.body->instructions()) {
      if (HasEffect(*instruction)) Reach(instruction);
    }
    while (!pending_.empty()) {
      const int64_t i = pending_.back();
      pending_.pop_back();
      Reach(state_.next(i));
    }
  }

  std::vector<int64_t> Kept() const {
    std::vector<int64_t> kept;
    for (int64_t i = 0; i < state_.size; ++i) {
      if (live_[i]) kept.push_back(i);
    }
    return kept;
  }

 private:
  void MarkElement(int64_t i) {
    if (live_[i]) return;
    live_[i] = true;
    pending_.push_back(i);
  }

  // Marks the elements that `from`, in the body, is computed from.
  void Reach(const Instruction* from) {
    std::vector<const Instruction*> stack = {from};
    while (!stack.empty()) {
      const Instruction* top = stack.back();
      stack.pop_back();
      if (!reached_.insert(top).second) continue;
      if (top->opcode() == Opcode::kGetTupleElement && top->operand(0) == state_.body->parameter(0)) {
        MarkElement(top->tuple_index());
        continue;
      }
      stack.insert(stack.end(), top->operands().begin(), top->operands().end());
    }
  }

  const LoopState& state_;
  std::vector<bool> live_;
  std::vector<int64_t> pending_;
  absl::flat_hash_set<const Instruction*> reached_;
};

absl::StatusOr<bool> ShrinkLoops(Module& module) {
  const auto call_counts = CallCounts(module);
  bool changed = false;
  for (Computation* computation : module.computations()) {
    bool shrunk = false;
    for (Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() != Opcode::kWhile || !OnlyElementsUsed(*instruction)) continue;
      const auto state = LoopState::Of(instruction, call_counts);
      if (!state) continue;
      const std::vector<int64_t> kept = LiveElements(*state).Kept();
      if (static_cast<int64_t>(kept.size()) == state->size) continue;
      KeepElements(*state, kept);
      shrunk = true;
    }
    changed |= shrunk;
    if (shrunk && !computation->SortTopologically())
      return absl::InternalError(
          absl::StrCat("%", computation->name(), " has a cycle after shrinking a loop"));
  }
  return changed;
}

}  // namespace

bool RemoveDeadInstructions(Computation& computation) {
  bool changed = false;
  std::vector<Instruction*> all = computation.instructions();
  // Users come after: backwards, one walk finds all.
  for (auto it = all.rbegin(); it != all.rend(); ++it) {
    Instruction* instruction = *it;
    if (!instruction->users().empty() || instruction == computation.root() ||
        instruction->opcode() == Opcode::kParameter || HasEffect(*instruction))
      continue;
    computation.Remove(instruction);
    changed = true;
  }
  return changed;
}

absl::StatusOr<bool> EliminateDeadCode(Module& module) {
  const size_t computations = module.computations().size();
  bool changed = false;
  for (Computation* computation : module.computations()) changed |= RemoveDeadInstructions(*computation);
  absl::StatusOr<bool> shrunk = ShrinkLoops(module);
  if (!shrunk.ok()) return shrunk;
  if (*shrunk) {
    for (Computation* computation : module.computations()) RemoveDeadInstructions(*computation);
  }
  module.RemoveUnreachableComputations();
  return changed || *shrunk || module.computations().size() != computations;
}

}  // namespace shoal

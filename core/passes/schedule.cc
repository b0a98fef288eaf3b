#include "core/passes/schedule.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/hlo/effects.h"

namespace shoal {
namespace {

// Whether anything below is a collective.
bool Communicates(const Instruction& instruction) {
  if (IsCrossDevice(instruction.opcode())) return true;
  for (const Computation* callee : instruction.called()) {
    for (const Instruction* inner : callee->instructions()) {
      if (Communicates(*inner)) return true;
    }
  }
  return false;
}

// How many places a collective may move forward, and what reads its result back. Bounded, for everything that
// is ready early also needs memory early: weights gathered long before their layer, say.
constexpr int kStartEarlier = 40;
constexpr int kWaitLonger = 40;

// List scheduling of one computation: of what is ready, the first by old position, moved as above.
class ListScheduler {
 public:
  explicit ListScheduler(Computation& computation)
      : computation_(computation), old_(computation.instructions()) {}

  // False if there is nothing to gain.
  bool Run() {
    if (std::none_of(old_.begin(), old_.end(), [](const Instruction* i) { return Communicates(*i); }))
      return false;
    FindOrder();
    for (Instruction* instruction : old_) {
      if (info_[instruction].waits_for == 0) ready_.insert(KeyOf(instruction));
    }
    std::vector<Instruction*> order;
    while (!ready_.empty()) {
      Instruction* next = old_[ready_.begin()->second];
      ready_.erase(ready_.begin());
      order.push_back(next);
      Done(next);
    }
    if (order == old_) return false;
    computation_.SetOrder(order);
    return true;
  }

 private:
  using Key = std::pair<int, int>;  // wished position, old position
  struct Info {
    int position = 0;
    int waits_for = 0;
    std::vector<Instruction*> next;
  };

  // What has to come before what.
  void FindOrder() {
    int position = 0;
    for (Instruction* instruction : old_) info_[instruction].position = position++;
    const Instruction* last_effect = nullptr;
    for (Instruction* instruction : old_) {
      Info& info = info_[instruction];
      for (const Instruction* operand : Distinct(*instruction)) AddEdge(operand, instruction, info);
      if (!HasSideEffect(instruction->opcode()) && !HasEffect(*instruction)) continue;
      if (last_effect != nullptr) AddEdge(last_effect, instruction, info);
      last_effect = instruction;
    }
  }

  static std::vector<const Instruction*> Distinct(const Instruction& instruction) {
    std::vector<const Instruction*> operands;
    absl::flat_hash_set<const Instruction*> seen;  // a tuple may have thousands
    for (const Instruction* operand : instruction.operands()) {
      if (seen.insert(operand).second) operands.push_back(operand);
    }
    return operands;
  }
  void AddEdge(const Instruction* before, Instruction* after, Info& of_after) {
    info_[before].next.push_back(after);
    ++of_after.waits_for;
  }

  Key KeyOf(Instruction* instruction) {
    const int position = info_[instruction].position;
    if (Communicates(*instruction)) return {position - kStartEarlier, position};
    const bool waits =
        std::any_of(instruction->operands().begin(), instruction->operands().end(),
                    [](const Instruction* operand) { return IsCrossDevice(operand->opcode()); });
    return {waits ? position + kWaitLonger : position, position};
  }

  void Done(Instruction* instruction) {
    for (Instruction* next : info_[instruction].next) {
      if (--info_[next].waits_for == 0) ready_.insert(KeyOf(next));
    }
  }

  Computation& computation_;
  const std::vector<Instruction*> old_;
  absl::flat_hash_map<const Instruction*, Info> info_;
  std::set<Key> ready_;
};

}  // namespace

absl::StatusOr<bool> Schedule(Module& module) {
  bool changed = false;
  for (Computation* computation : module.computations()) {
    if (!computation->SortTopologically()) {
      return absl::InternalError(
          absl::StrCat("computation ", computation->name(), " has a cycle; please report"));
    }
    changed |= ListScheduler(*computation).Run();
  }
  return changed;
}

}  // namespace shoal

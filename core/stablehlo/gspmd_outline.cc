#include "core/stablehlo/gspmd_outline.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "core/stablehlo/gspmd_manual.h"

namespace shoal {
namespace {

bool IsEntry(const Instruction& instruction) { return IsCallOf(instruction, kFullToShardTarget); }
bool IsExit(const Instruction& instruction) { return IsCallOf(instruction, kShardToFullTarget); }

// What hangs together between borders. Arrays from elsewhere, constants for instance, are the same inside as
// outside.
struct ManualPart {
  std::vector<Instruction*> members;  // in order
  std::vector<Instruction*> exits;
};

class Outliner {
 public:
  explicit Outliner(Computation& computation) : computation_(computation) {}

  absl::Status Run() {
    for (Instruction* instruction : computation_.instructions()) Place(instruction);
    absl::btree_map<int, ManualPart> parts;
    for (Instruction* instruction : computation_.instructions()) {
      if (IsExit(*instruction)) {
        const Instruction* result = instruction->operand(0);
        parts[part_.contains(result) ? PartOf(result) : NewPart()].exits.push_back(instruction);
      } else if (part_.contains(instruction) && !IsEntry(*instruction)) {
        parts[PartOf(instruction)].members.push_back(instruction);
      }
    }
    for (const auto& [number, part] : parts) Outline(part);
    if (computation_.SortTopologically()) return absl::OkStatus();
    return absl::UnimplementedError(
        "manual regions that need each other's results in the middle; use Shardy "
        "(jax_use_shardy_partitioner)");
  }

 private:
  // An entry begins a part; what works on members of parts makes them one.
  void Place(Instruction* instruction) {
    if (IsExit(*instruction)) return;
    int number = IsEntry(*instruction) ? NewPart() : -1;
    for (const Instruction* operand : instruction->operands()) {
      const auto known = part_.find(operand);
      if (known == part_.end()) continue;
      const int other = Find(known->second);
      if (number >= 0) parent_[std::max(number, other)] = std::min(number, other);
      number = number < 0 ? other : std::min(number, other);
    }
    if (number >= 0) part_[instruction] = number;
  }
  int NewPart() {
    parent_.push_back(static_cast<int>(parent_.size()));
    return parent_.back();
  }
  int Find(int number) const {
    while (parent_[number] != number) number = parent_[number];
    return number;
  }
  int PartOf(const Instruction* instruction) const { return Find(part_.at(instruction)); }

  void Outline(const ManualPart& part) {
    Computation* body = computation_.parent()->AddComputation("manual_region");
    std::vector<Instruction*> operands, results, inner;
    absl::flat_hash_map<const Instruction*, Instruction*> copies;
    const auto copy_of = [&](Instruction* instruction) {
      Instruction*& copy = copies[instruction];
      if (copy == nullptr) {
        copy = body->AddParameter(static_cast<int64_t>(operands.size()), instruction->shape());
        operands.push_back(instruction);
      }
      return copy;
    };
    for (Instruction* member : part.members) {
      std::vector<Instruction*> own;
      for (Instruction* operand : member->operands()) own.push_back(copy_of(operand));
      copies[member] = body->AddClone(*member, own);
    }
    for (Instruction* exit : part.exits) {
      Instruction* result = exit->operand(0);
      if (std::find(results.begin(), results.end(), result) != results.end()) continue;
      results.push_back(result);
      inner.push_back(copy_of(result));
    }
    const bool is_single = inner.size() == 1;
    body->set_root(is_single ? inner[0] : body->AddTuple(inner));
    Instruction* call = computation_.Add(Opcode::kCall, body->root()->shape(), operands, {}, {body});
    for (Instruction* exit : part.exits) {
      const auto number = std::find(results.begin(), results.end(), exit->operand(0)) - results.begin();
      exit->ReplaceOperand(0, is_single ? call : computation_.AddGetTupleElement(call, number));
    }
    for (auto it = part.members.rbegin(); it != part.members.rend(); ++it) {
      if ((*it)->users().empty() && *it != computation_.root()) computation_.Remove(*it);
    }
  }

  Computation& computation_;
  absl::flat_hash_map<const Instruction*, int> part_;  // of members and entries
  std::vector<int> parent_;                            // union-find over parts
};

}  // namespace

absl::Status OutlineManualRegions(Computation& computation) {
  const std::vector<Instruction*> all = computation.instructions();
  const bool has_borders =
      std::any_of(all.begin(), all.end(), [](const Instruction* i) { return IsEntry(*i) || IsExit(*i); });
  return has_borders ? Outliner(computation).Run() : absl::OkStatus();
}

}  // namespace shoal

#include "core/passes/fuse.h"

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/passes/dce.h"
#include "core/passes/kernel_groups.h"

namespace shoal {
namespace {

FusionKind KindOf(const Instruction& root) {
  switch (root.opcode()) {
    case Opcode::kReduce:
      return FusionKind::kReduce;
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kScatter:
      return FusionKind::kInPlace;
    default:
      return FusionKind::kLoop;
  }
}

// Builds the fusion of one group.
class FusionBuilder {
 public:
  FusionBuilder(const KernelGroups& groups, const KernelGroup& group) : groups_(groups), group_(group) {}

  Instruction* Build() {
    Instruction* const first = group_.roots[0];
    fused_ = first->parent()->parent()->AddComputation(absl::StrCat("fused_", OpcodeName(first->opcode())));
    for (Instruction* instruction : group_.inside) Clone(instruction);
    std::vector<Instruction*> roots;
    for (const Instruction* root : group_.roots) roots.push_back(clones_.at(root));
    fused_->set_root(roots.size() == 1 ? roots[0] : fused_->AddTuple(roots));
    fused_->SortTopologically();
    Instruction* fusion = first->parent()->Add(Opcode::kFusion, fused_->root()->shape(), operands_,
                                               FusionAttributes{KindOf(*first)}, {fused_});
    fusion->set_op_name(first->op_name());
    return fusion;
  }

 private:
  void Clone(Instruction* instruction) {
    std::vector<Instruction*> inner;
    for (int64_t i = 0; i < instruction->operand_count(); ++i) {
      Instruction* operand = instruction->operand(i);
      inner.push_back(groups_.IsInside(group_, instruction, i) ? clones_.at(operand) : Parameter(operand));
    }
    Instruction* clone = fused_->AddClone(*instruction, inner);
    clone->clear_sharding();
    clones_[instruction] = clone;
  }

  Instruction* Parameter(Instruction* outside) {
    Instruction*& parameter = parameters_[outside];
    if (parameter == nullptr) {
      parameter = fused_->AddParameter(static_cast<int64_t>(operands_.size()), outside->shape());
      operands_.push_back(outside);
    }
    return parameter;
  }

  const KernelGroups& groups_;
  const KernelGroup& group_;
  Computation* fused_ = nullptr;
  absl::flat_hash_map<const Instruction*, Instruction*> clones_;      // of what is inside
  absl::flat_hash_map<const Instruction*, Instruction*> parameters_;  // of what is not
  std::vector<Instruction*> operands_;
};

bool FuseComputation(Computation& computation, const FusionModel& model) {
  const FusionPlan plan(computation, model);
  const KernelGroups groups(plan);
  // A fusion stands where the last of its roots stood.
  absl::flat_hash_map<const Instruction*, std::vector<Instruction*>> after;
  std::vector<std::pair<Instruction*, Instruction*>> replaced;
  for (const KernelGroup& group : groups.groups()) {
    if (group.inside.size() == 1) continue;
    Instruction* fusion = FusionBuilder(groups, group).Build();
    std::vector<Instruction*>& here = after[group.roots.back()];
    here.push_back(fusion);
    for (size_t i = 0; i < group.roots.size(); ++i) {
      Instruction* value = fusion;
      if (group.roots.size() > 1) {
        value = computation.AddGetTupleElement(fusion, static_cast<int64_t>(i));
        here.push_back(value);
      }
      replaced.emplace_back(group.roots[i], value);
    }
  }
  if (replaced.empty()) return false;
  std::vector<Instruction*> order;
  for (Instruction* instruction : plan.instructions()) {
    order.push_back(instruction);
    if (auto it = after.find(instruction); it != after.end()) {
      order.insert(order.end(), it->second.begin(), it->second.end());
    }
  }
  computation.SetOrder(order);
  for (auto [root, value] : replaced) root->ReplaceAllUsesWith(value);
  RemoveDeadInstructions(computation);
  return true;
}

void Reach(Computation* computation, absl::flat_hash_set<const Computation*>& seen,
           std::vector<Computation*>& reached) {
  if (!seen.insert(computation).second) return;
  reached.push_back(computation);
  for (const Instruction* instruction : computation->instructions()) {
    const bool is_control = instruction->opcode() == Opcode::kWhile ||
                            instruction->opcode() == Opcode::kCall ||
                            instruction->opcode() == Opcode::kConditional;
    if (!is_control) continue;
    for (Computation* callee : instruction->called()) Reach(callee, seen, reached);
  }
}

}  // namespace

absl::StatusOr<bool> Fuse(Module& module, const FusionModel& model) {
  std::vector<Computation*> computations;
  absl::flat_hash_set<const Computation*> seen;
  Reach(module.entry(), seen, computations);
  bool changed = false;
  for (Computation* computation : computations) {
    changed |= FuseComputation(*computation, model);
    if (!computation->SortTopologically()) {
      return absl::InternalError(
          absl::StrCat("fusing made a circle in ", computation->name(), "; please report"));
    }
  }
  return changed;
}

}  // namespace shoal

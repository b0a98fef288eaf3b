#include "core/passes/fuse.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/passes/fusion_plan.h"

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

// Builds the fusion of one root.
class FusionBuilder {
 public:
  FusionBuilder(const FusionPlan& plan, Instruction* root) : plan_(plan), root_(root) {}

  // What is computed inside, operands first. Only the root: nothing to fuse.
  const std::vector<Instruction*>& Collect() {
    Visit(root_);
    return inside_;
  }

  Instruction* Build() {
    Module* module = root_->parent()->parent();
    Computation* fused = module->AddComputation(absl::StrCat("fused_", OpcodeName(root_->opcode())));
    absl::flat_hash_map<const Instruction*, Instruction*> clones;
    std::vector<Instruction*> operands;
    for (Instruction* instruction : inside_) {
      std::vector<Instruction*> inner;
      for (int64_t i = 0; i < instruction->operand_count(); ++i) {
        Instruction* operand = instruction->operand(i);
        if (IsInside(instruction, i)) {
          inner.push_back(clones.at(operand));
          continue;
        }
        Instruction*& parameter = parameters_[operand];
        if (parameter == nullptr) {
          parameter = fused->AddParameter(static_cast<int64_t>(operands.size()), operand->shape());
          operands.push_back(operand);
        }
        inner.push_back(parameter);
      }
      clones[instruction] = fused->AddClone(*instruction, inner);
      clones[instruction]->clear_sharding();
    }
    fused->set_root(clones.at(root_));
    fused->SortTopologically();
    Instruction* fusion = root_->parent()->Add(Opcode::kFusion, root_->shape(), operands,
                                               FusionAttributes{KindOf(*root_)}, {fused});
    fusion->set_op_name(root_->op_name());
    return fusion;
  }

 private:
  // The root's own memory may be one of its kernel's operands only if it is not inside.
  bool IsInside(const Instruction* user, int64_t operand) const { return plan_.IsInlined(user, operand); }

  void Visit(Instruction* instruction) {
    if (!seen_.insert(instruction).second) return;
    for (int64_t i = 0; i < instruction->operand_count(); ++i) {
      if (IsInside(instruction, i)) Visit(instruction->operand(i));
    }
    inside_.push_back(instruction);
  }

  const FusionPlan& plan_;
  Instruction* root_;
  absl::flat_hash_set<const Instruction*> seen_;
  std::vector<Instruction*> inside_;
  absl::flat_hash_map<const Instruction*, Instruction*> parameters_;  // outside values
};

bool IsPlain(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kReshape || instruction.opcode() == Opcode::kBitcast ||
         instruction.opcode() == Opcode::kConstant;
}

bool FuseComputation(Computation& computation, const FusionModel& model) {
  const FusionPlan plan(computation, model);
  std::vector<Instruction*> order;
  std::vector<std::pair<Instruction*, Instruction*>> replaced;
  for (Instruction* instruction : plan.instructions()) {
    order.push_back(instruction);
    if (!plan.IsRoot(instruction) || !plan.CanBeKernel(instruction) || IsPlain(*instruction)) continue;
    FusionBuilder builder(plan, instruction);
    if (builder.Collect().size() == 1) continue;
    Instruction* fusion = builder.Build();
    order.push_back(fusion);
    replaced.emplace_back(instruction, fusion);
  }
  if (replaced.empty()) return false;
  computation.SetOrder(order);
  for (auto [root, fusion] : replaced) root->ReplaceAllUsesWith(fusion);
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const bool is_root = *it == computation.root();
    if ((*it)->users().empty() && !is_root && (*it)->opcode() != Opcode::kParameter &&
        !HasSideEffect((*it)->opcode()) && !IsCrossDevice((*it)->opcode())) {
      computation.Remove(*it);
    }
  }
  return true;
}

void Reach(Computation* computation, std::vector<Computation*>& reached) {
  if (std::find(reached.begin(), reached.end(), computation) != reached.end()) return;
  reached.push_back(computation);
  for (const Instruction* instruction : computation->instructions()) {
    const bool is_control = instruction->opcode() == Opcode::kWhile ||
                            instruction->opcode() == Opcode::kCall ||
                            instruction->opcode() == Opcode::kConditional;
    if (!is_control) continue;
    for (Computation* callee : instruction->called()) Reach(callee, reached);
  }
}

}  // namespace

absl::StatusOr<bool> Fuse(Module& module, const FusionModel& model) {
  std::vector<Computation*> computations;
  Reach(module.entry(), computations);
  bool changed = false;
  for (Computation* computation : computations) changed |= FuseComputation(*computation, model);
  return changed;
}

}  // namespace shoal

// The way of most operations: split the factors that are cheapest to split, bring operands there, run the
// same operation on local shapes, combine what a reduction left partial, bring the result where it is wanted.
#include <algorithm>
#include <cmath>

#include "core/base/log.h"
#include "sharding/mesh/axes.h"
#include "sharding/partition/region.h"

namespace shoal {

double FlopsPerPoint(const Instruction& old) {
  if (old.opcode() == Opcode::kDot) return 2;
  if (old.opcode() != Opcode::kConvolution) return 0;
  double flops = 2;
  for (const WindowDimension& w : old.attributes<ConvolutionAttributes>().window) {
    flops *= static_cast<double>(w.size);
  }
  return flops;
}

Instruction* MaskReduced(Region& region, const FactorRule& rule, const FactorAxesList& axes, size_t tensor,
                         Instruction* local, Literal neutral) {
  Instruction* value = nullptr;
  for (size_t d = 0; d < rule.operands[tensor].size(); ++d) {
    const FactorList& factors = rule.operands[tensor][d];
    if (factors.size() != 1) continue;
    const Factor& factor = rule.factors[factors[0]];
    const AxisList& split = axes[factors[0]];
    if (factor.kind != FactorKind::kReduction || factor.size % SizeOf(split) == 0) continue;
    if (value == nullptr) value = region.builder().computation()->AddConstant(neutral);
    local = region.builder().MaskPadding(local, static_cast<int64_t>(d), factor.size, split, value);
  }
  return local;
}

absl::Status PartitionGeneric(Region& region, const Instruction& old) {
  const FactorRule rule = RuleFor(old);
  ChoiceProblem problem = region.ProblemOf(old, rule);
  problem.flops_per_point = FlopsPerPoint(old);
  return PartitionWithChoice(region, old, rule, ChooseFactorAxes(region.mesh(), problem, region.manual()));
}

absl::Status PartitionWithChoice(Region& region, const Instruction& old, const FactorRule& rule,
                                 const Choice& choice) {
  const Opcode combiner = OpcodeOf(rule.combiner);
  std::vector<Instruction*> operands;
  std::vector<Shape> operand_shapes, result_shapes;
  size_t tensor = 0;
  for (int64_t i = 0; i < old.operand_count(); ++i) {
    const Instruction* operand = old.operand(i);
    std::vector<Instruction*> leaves;
    for (const Shape& shape : operand->shape().Leaves()) {
      Instruction* leaf = region.GetFor(old, rule, choice, i, static_cast<int64_t>(leaves.size()), tensor);
      if (shape.IsArray()) {
        const Literal neutral = IdentityOf(combiner, shape.element_type());
        leaf = MaskReduced(region, rule, choice.axes, tensor, leaf, neutral);
      }
      leaves.push_back(leaf);
      operand_shapes.push_back(leaf->shape());
      ++tensor;
    }
    operands.push_back(region.Assemble(operand->shape(), leaves));
  }
  const std::vector<Shape> global = old.shape().Leaves();
  for (size_t i = 0; i < global.size(); ++i)
    result_shapes.push_back(LocalShape(global[i], choice.results[i]));
  Instruction* local =
      region.builder().Add(old.opcode(), Region::LocalTree(old.shape(), choice.results), operands,
                           LocalAttributes(old, operand_shapes, result_shapes), old.called());
  const std::vector<Instruction*> results = region.Explode(local);
  for (size_t i = 0; i < results.size(); ++i) {
    region.SetResult(&old, static_cast<int64_t>(i), results[i], choice.results[i], combiner);
  }
  return absl::OkStatus();
}

absl::Status PartitionReplicated(Region& region, const Instruction& old) {
  std::vector<Instruction*> operands;
  for (int64_t i = 0; i < old.operand_count(); ++i) {
    const Instruction* operand = old.operand(i);
    std::vector<Instruction*> leaves;
    for (size_t leaf = 0; leaf < operand->shape().Leaves().size(); ++leaf) {
      leaves.push_back(region.GetWholeFor(old, i, static_cast<int64_t>(leaf)));
    }
    operands.push_back(region.Assemble(operand->shape(), leaves));
  }
  Instruction* local =
      region.builder().Add(old.opcode(), old.shape(), operands, old.attributes(), old.called());
  const std::vector<Instruction*> results = region.Explode(local);
  for (size_t i = 0; i < results.size(); ++i) {
    region.SetResult(&old, static_cast<int64_t>(i), results[i],
                     Layout::Replicated(results[i]->shape().rank()));
  }
  return absl::OkStatus();
}

}  // namespace shoal

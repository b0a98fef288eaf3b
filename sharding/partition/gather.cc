// scatter: the generic way, except that where the updates are split, only one part starts from the operand
// and the others from zero, so that the operand counts once in the sum.
#include "sharding/mesh/axes.h"
#include "sharding/partition/region.h"

namespace shoal {

absl::Status PartitionScatter(Region& region, const Instruction& old) {
  const FactorRule rule = RuleFor(old);
  const Choice choice = ChooseFactorAxes(region.mesh(), region.ProblemOf(old, rule), region.manual());
  if (choice.results[0].partial.empty()) return PartitionGeneric(region, old);
  region.ReportGathered(old, rule, choice);
  LocalBuilder& builder = region.builder();
  const ElementType type = old.shape().element_type();
  // Splitting the updates means one input and addition (rules/gather.cc).
  Instruction* operand = region.Get(old.operand(0), choice.operands[0]);
  Instruction* indices = region.Get(old.operand(1), choice.operands[1]);
  Instruction* updates = region.Get(old.operand(2), choice.operands[2]);
  Instruction* zero = builder.Zero(type);
  for (size_t d = 0; d < rule.operands[2].size(); ++d) {
    const int factor = rule.operands[2][d][0];
    if (rule.factors[factor].kind != FactorKind::kReduction) continue;
    updates = builder.MaskPadding(updates, static_cast<int64_t>(d), rule.factors[factor].size,
                                  choice.axes[factor], zero);
  }
  Instruction* first = builder.Compare(ComparisonDirection::kEq,
                                       builder.Coordinate(choice.results[0].partial), builder.ConstantS32(0));
  const auto dims = operand->shape().dims();
  operand =
      builder.Select(builder.BroadcastScalar(first, dims), operand, builder.BroadcastScalar(zero, dims));
  Instruction* local = builder.Add(Opcode::kScatter, LocalShape(old.shape(), choice.results[0]),
                                   {operand, indices, updates}, old.attributes(), old.called());
  region.SetResult(&old, 0, local, choice.results[0]);
  return absl::OkStatus();
}

}  // namespace shoal

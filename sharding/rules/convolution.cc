// Batch and features like a dot's; spatial dimensions pass shardings along but need their neighbours. With
// groups the feature dimensions begin with a factor of groups, which both sides share.
#include "sharding/rules/rule.h"

namespace shoal {

FactorRule convolution_rule(const Instruction& instruction) {
  const auto& conv = instruction.attributes<ConvolutionAttributes>();
  const Shape& input = instruction.operand(0)->shape();
  const Shape& output = instruction.shape();
  RuleBuilder rule(instruction);
  if (conv.batch_group_count == 1) {
    rule.Add({conv.input_batch, -1}, {conv.output_batch});
    const int64_t groups = conv.feature_group_count;
    if (groups > 1) {
      rule.AddPart(groups, {conv.input_feature, conv.kernel_output_feature}, {conv.output_feature});
    }
    const int64_t out_per_group = output.dim(conv.output_feature) / groups;
    const int64_t in_per_group = input.dim(conv.input_feature) / groups;
    if (out_per_group > 1 || groups == 1) {
      rule.AddPart(out_per_group, {-1, conv.kernel_output_feature}, {conv.output_feature});
    }
    if (in_per_group > 1 || groups == 1) {
      rule.AddPart(in_per_group, {conv.input_feature, conv.kernel_input_feature}, {-1},
                   FactorKind::kReduction);
    }
  } else {
    rule.Add({-1, conv.kernel_input_feature}, {-1}, FactorKind::kNeedReplication);
  }
  for (size_t i = 0; i < conv.window.size(); ++i) {
    rule.Add({conv.input_spatial[i], -1}, {conv.output_spatial[i]}, FactorKind::kPermutation);
  }
  return rule.SetCombiner(Combiner::kAdd).Build();
}

}  // namespace shoal

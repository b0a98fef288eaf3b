// Kept dimensions pass through, reduced ones are combined by the region.
#include <algorithm>

#include "sharding/rules/rule.h"

namespace shoal {

FactorRule reduce_rule(const Instruction& instruction) {
  RuleBuilder rule(instruction);
  const int64_t inputs = instruction.operand_count() / 2;
  const Shape& input = instruction.operand(0)->shape();
  const auto reduced = instruction.dimensions();
  int64_t result_dim = 0;
  for (int64_t d = 0; d < input.rank(); ++d) {
    const bool is_reduced = std::find(reduced.begin(), reduced.end(), d) != reduced.end();
    const std::vector<int64_t> operand_dims(inputs, d);
    const std::vector<int64_t> result_dims(inputs, is_reduced ? -1 : result_dim);
    rule.Add(operand_dims, result_dims, is_reduced ? FactorKind::kReduction : FactorKind::kPassThrough);
    if (!is_reduced) ++result_dim;
  }
  const bool single = inputs == 1;
  return rule.SetCombiner(single ? CombinerOf(*instruction.called(0)) : Combiner::kRegion).Build();
}

}  // namespace shoal

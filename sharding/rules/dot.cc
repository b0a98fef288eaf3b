// Batch dimensions in all three, free ones in one operand and the result, contracted ones summed over.
#include <algorithm>

#include "sharding/rules/rule.h"

namespace shoal {
namespace {

bool Has(const IntVector& list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

FactorRule dot_rule(const Instruction& instruction) {
  const auto& dot = instruction.attributes<DotAttributes>();
  RuleBuilder rule(instruction);
  int64_t result_dim = 0;
  for (size_t i = 0; i < dot.lhs_batch_dims.size(); ++i) {
    rule.Add({dot.lhs_batch_dims[i], dot.rhs_batch_dims[i]}, {result_dim++});
  }
  for (int64_t d = 0; d < instruction.operand(0)->shape().rank(); ++d) {
    if (Has(dot.lhs_batch_dims, d) || Has(dot.lhs_contracting_dims, d)) continue;
    rule.Add({d, -1}, {result_dim++});
  }
  for (int64_t d = 0; d < instruction.operand(1)->shape().rank(); ++d) {
    if (Has(dot.rhs_batch_dims, d) || Has(dot.rhs_contracting_dims, d)) continue;
    rule.Add({-1, d}, {result_dim++});
  }
  for (size_t i = 0; i < dot.lhs_contracting_dims.size(); ++i) {
    rule.Add({dot.lhs_contracting_dims[i], dot.rhs_contracting_dims[i]}, {-1}, FactorKind::kReduction);
  }
  return rule.SetCombiner(Combiner::kAdd).Build();
}

}  // namespace shoal

// cholesky, triangular-solve and fft: batch dimensions lead; the last ones need the whole.
#include "sharding/rules/rule.h"

namespace shoal {
namespace {

FactorRule LeadingBatch(const Instruction& instruction, int64_t matrix_dims) {
  const int64_t rank = instruction.shape().rank();
  RuleBuilder rule(instruction);
  for (int64_t d = 0; d < rank - matrix_dims; ++d) {
    rule.Add(std::vector<int64_t>(rule.operand_leaves(), d), {d});
  }
  return rule.Build();
}

}  // namespace

FactorRule linalg_rule(const Instruction& instruction) { return LeadingBatch(instruction, 2); }

FactorRule fft_rule(const Instruction& instruction) {
  return LeadingBatch(instruction,
                      static_cast<int64_t>(instruction.attributes<FftAttributes>().length.size()));
}

}  // namespace shoal

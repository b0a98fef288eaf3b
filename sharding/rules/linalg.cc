// cholesky, triangular-solve and fft: batch dimensions lead; the last ones need the whole, and the result is
// split along them as the operand (the right-hand side) is.
#include "sharding/rules/rule.h"

namespace shoal {
namespace {

FactorRule LeadingBatch(const Instruction& instruction, int64_t matrix_dims) {
  const int64_t rank = instruction.shape().rank();
  RuleBuilder rule(instruction);
  for (int64_t d = 0; d < rank - matrix_dims; ++d) {
    rule.Add(std::vector<int64_t>(rule.operand_leaves(), d), {d});
  }
  const int64_t last = instruction.operand_count() - 1;
  for (int64_t d = rank - matrix_dims; d < rank; ++d) {
    if (instruction.operand(last)->shape().dim(d) != instruction.shape().dim(d)) continue;  // half a spectrum
    std::vector<int64_t> dims(rule.operand_leaves(), -1);
    dims[last] = d;
    rule.Add(dims, {d}, FactorKind::kNeedReplication);
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

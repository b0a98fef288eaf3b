// sort needs the whole of the sorted dimension, but where it is long it may be sorted part by part
// (partition/sample_sort.h); topk needs the whole of the last dimension, which is another one in its results.
#include "sharding/rules/rule.h"

namespace shoal {

FactorRule sort_rule(const Instruction& instruction) {
  const int64_t rank = instruction.operand(0)->shape().rank();
  RuleBuilder rule(instruction);
  if (instruction.opcode() == Opcode::kTopK) return rule.AddPointwise(rank, {rank - 1}).Build();
  const int64_t special = instruction.attributes<SortAttributes>().dimension;
  rule.AddPointwise(rank, {special});
  rule.Add(std::vector<int64_t>(rule.operand_leaves(), special),
           std::vector<int64_t>(rule.result_leaves(), special),
           rank == 1 ? FactorKind::kPermutation : FactorKind::kNeedReplication);
  return rule.Build();
}

}  // namespace shoal

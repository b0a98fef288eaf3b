// sort needs the whole of the sorted dimension, topk of the last.
#include "sharding/rules/rule.h"

namespace shoal {

FactorRule sort_rule(const Instruction& instruction) {
  const int64_t rank = instruction.operand(0)->shape().rank();
  const int64_t special =
      instruction.opcode() == Opcode::kSort ? instruction.attributes<SortAttributes>().dimension : rank - 1;
  RuleBuilder rule(instruction);
  rule.AddPointwise(rank, {special});
  rule.Add(std::vector<int64_t>(rule.operand_leaves(), special),
           std::vector<int64_t>(rule.result_leaves(), special), FactorKind::kNeedReplication);
  return rule.Build();
}

}  // namespace shoal

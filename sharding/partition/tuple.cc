// Tuples are gone: their leaves are the leaves of their elements.
#include "sharding/partition/region.h"

namespace shoal {

absl::Status PartitionTuple(Region& region, const Instruction& old) {
  int64_t leaf = 0;
  for (const Instruction* operand : old.operands()) {
    for (size_t i = 0; i < operand->shape().Leaves().size(); ++i) {
      region.Alias(&old, leaf++, operand, static_cast<int64_t>(i));
    }
  }
  return absl::OkStatus();
}

absl::Status PartitionGetTupleElement(Region& region, const Instruction& old) {
  const Instruction* tuple = old.operand(0);
  const int64_t first = FirstLeaf(tuple->shape(), old.tuple_index());
  for (size_t i = 0; i < old.shape().Leaves().size(); ++i) {
    const auto leaf = static_cast<int64_t>(i);
    region.Alias(&old, leaf, tuple, first + leaf);
  }
  return absl::OkStatus();
}

absl::Status PartitionBarrier(Region& region, const Instruction& old) {
  const Instruction* operand = old.operand(0);
  std::vector<Instruction*> leaves;
  for (size_t i = 0; i < operand->shape().Leaves().size(); ++i) {
    const auto leaf = static_cast<int64_t>(i);
    leaves.push_back(region.Get(operand, leaf, region.CurrentLayout(operand, leaf)));
  }
  Instruction* before = region.Assemble(operand->shape(), leaves);
  Instruction* barrier = region.builder().Add(old.opcode(), before->shape(), {before});
  const std::vector<Instruction*> after = region.Explode(barrier);
  for (size_t i = 0; i < after.size(); ++i) {
    const auto leaf = static_cast<int64_t>(i);
    region.SetResult(&old, leaf, after[i], region.CurrentLayout(operand, leaf));
  }
  return absl::OkStatus();
}

}  // namespace shoal

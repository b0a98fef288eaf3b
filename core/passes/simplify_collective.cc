// Rules of collectives among few.
#include <algorithm>

#include "core/hlo/participants.h"
#include "core/hlo/ragged_all_to_all.h"
#include "core/passes/match.h"
#include "core/passes/simplify.h"

namespace shoal {
namespace {

// Groups of one: everyone keeps what it has.
Instruction* CollectiveOfOne(Instruction& op, HloBuilder& b) {
  const auto& attributes = op.attributes<CollectiveAttributes>();
  if (IsRaggedAllToAll(op.opcode(), attributes)) return nullptr;
  const Groups& groups = attributes.replica_groups;
  const bool alone = groups.empty() ? ParticipantCount(op) == 1
                                    : std::all_of(groups.begin(), groups.end(),
                                                  [](const IntVector& g) { return g.size() == 1; });
  if (!alone) return nullptr;
  // Who is in no group would get zeros or nothing; then all must be in one.
  if (!groups.empty() && static_cast<int64_t>(groups.size()) != ParticipantCount(op)) return nullptr;
  return op.operand_count() == 1 ? op.operand(0) : b.Tuple(op.operands());
}

// transpose(all-reduce(dot)) -> all-reduce(transpose(dot)), for the dot can give its result transposed.
Instruction* TransposeOfAllReducedDot(Instruction& op, HloBuilder& b) {
  Instruction* reduce = op.operand(0);
  if (reduce->opcode() != Opcode::kAllReduce || reduce->operand_count() != 1 || reduce->users().size() != 1)
    return nullptr;
  Instruction* dot = reduce->operand(0);
  if (dot->opcode() != Opcode::kDot || dot->users().size() != 1) return nullptr;
  Instruction* transposed = b.Transpose(dot, op.attributes<DimensionsAttributes>().dimensions);
  return b.Op(Opcode::kAllReduce, {transposed}, reduce->attributes(), reduce->called());
}

Instruction* PermuteToItself(Instruction& op, HloBuilder&) {
  const Pairs& pairs = op.attributes<CollectiveAttributes>().source_target_pairs;
  if (op.operand_count() != 1 || static_cast<int64_t>(pairs.size()) != ParticipantCount(op)) return nullptr;
  const bool same =
      std::all_of(pairs.begin(), pairs.end(), [](const auto& p) { return p.first == p.second; });
  return same ? op.operand(0) : nullptr;
}

Instruction* OnlyPartition(Instruction& op, HloBuilder& b) {
  return op.parent()->parent()->config().num_partitions == 1 ? b.Scalar(ElementType::kU32, 0) : nullptr;
}
Instruction* OnlyReplica(Instruction& op, HloBuilder& b) {
  return op.parent()->parent()->config().num_replicas == 1 ? b.Scalar(ElementType::kU32, 0) : nullptr;
}

constexpr SimplifyRow kRows[] = {
    {Opcode::kAllGather, "all-gather of one", CollectiveOfOne},
    {Opcode::kAllReduce, "all-reduce of one", CollectiveOfOne},
    {Opcode::kAllToAll, "all-to-all of one", CollectiveOfOne},
    {Opcode::kCollectiveBroadcast, "collective-broadcast of one", CollectiveOfOne},
    {Opcode::kCollectivePermute, "collective-permute to itself", PermuteToItself},
    {Opcode::kPartitionId, "the only partition", OnlyPartition},
    {Opcode::kReduceScatter, "reduce-scatter of one", CollectiveOfOne},
    {Opcode::kReplicaId, "the only replica", OnlyReplica},
    {Opcode::kTranspose, "transpose of an all-reduced dot", TransposeOfAllReducedDot},
};

}  // namespace

absl::Span<const SimplifyRow> CollectiveRules() { return kRows; }

}  // namespace shoal

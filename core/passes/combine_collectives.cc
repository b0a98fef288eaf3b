#include "core/passes/combine_collectives.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/ops/builder.h"
#include "core/ops/reduction.h"

namespace shoal {
namespace {

bool MayCombine(const Instruction& op) {
  const bool kind = op.opcode() == Opcode::kAllReduce || op.opcode() == Opcode::kAllGather ||
                    op.opcode() == Opcode::kReduceScatter;
  return kind && op.shape().IsArray() && op.shardings().empty() &&
         op.operand(0)->shape().ByteSize() < kMaxCombinedBytes;
}

// How many collectives (or computations that may hold some) lie on the longest way to each instruction. Two
// of the same depth do not depend on each other.
absl::flat_hash_map<const Instruction*, int64_t> CollectiveDepths(const std::vector<Instruction*>& order) {
  absl::flat_hash_map<const Instruction*, int64_t> depths;
  for (const Instruction* op : order) {
    int64_t depth = 0;
    for (const Instruction* operand : op->operands()) depth = std::max(depth, depths.at(operand));
    const bool counts = IsCrossDevice(op->opcode()) || FamilyOf(op->opcode()) == OpFamily::kControlFamily;
    depths[op] = depth + counts;
  }
  return depths;
}

bool SameKind(const Instruction& a, const Instruction& b) {
  if (a.opcode() != b.opcode() || a.shape().element_type() != b.shape().element_type()) return false;
  // The channel only tells XLA's collectives apart.
  CollectiveAttributes of_a = a.attributes<CollectiveAttributes>(),
                       of_b = b.attributes<CollectiveAttributes>();
  of_a.channel_id = of_b.channel_id = 0;
  if (!(Attributes(of_a) == Attributes(of_b))) return false;
  if (a.called().empty()) return true;
  const auto body_a = ReductionOpcode(*a.called(0)), body_b = ReductionOpcode(*b.called(0));
  return a.called(0) == b.called(0) || (body_a && body_a == body_b);
}

void Combine(Computation& computation, const std::vector<Instruction*>& group) {
  HloBuilder b(&computation);
  b.set_op_name(group[0]->op_name());
  std::vector<Instruction*> operands;
  for (const Instruction* op : group) operands.push_back(op->operand(0));
  Instruction* combined = b.Op(group[0]->opcode(), operands, group[0]->attributes(), group[0]->called());
  for (size_t i = 0; i < group.size(); ++i) {
    group[i]->ReplaceAllUsesWith(b.GetTupleElement(combined, static_cast<int64_t>(i)));
    computation.Remove(group[i]);
  }
}

bool CombineIn(Computation& computation) {
  const std::vector<Instruction*> order = computation.instructions();
  if (std::none_of(order.begin(), order.end(), [](const Instruction* op) { return MayCombine(*op); }))
    return false;
  const auto depths = CollectiveDepths(order);
  struct Group {
    int64_t depth, bytes;
    std::vector<Instruction*> members;
  };
  std::vector<Group> groups;
  for (Instruction* op : order) {
    if (!MayCombine(*op)) continue;
    const int64_t depth = depths.at(op), bytes = op->operand(0)->shape().ByteSize();
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) {
      return g.depth == depth && g.bytes + bytes <= kMaxCombinedBytes && SameKind(*g.members[0], *op);
    });
    if (group == groups.end()) group = groups.insert(groups.end(), Group{depth, 0, {}});
    group->bytes += bytes;
    group->members.push_back(op);
  }
  bool changed = false;
  for (const Group& group : groups) {
    if (group.members.size() < 2) continue;
    Combine(computation, group.members);
    changed = true;
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> CombineCollectives(Module& module) {
  bool changed = false;
  for (Computation* computation : module.computations()) {
    if (!CombineIn(*computation)) continue;
    changed = true;
    if (!computation->SortTopologically())
      return absl::InternalError(
          absl::StrCat("%", computation->name(), " has a cycle after combining collectives"));
  }
  return changed;
}

}  // namespace shoal

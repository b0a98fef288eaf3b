// gather and scatter. Batch dimensions (of the indices, and those that both sides share) pass through, and
// so do window dimensions that are taken whole. A gather's dimension that is indexed one element at a time is
// a reduction: each part gives what it has and zero for the rest, and the sum is all; other indexed
// dimensions need the whole operand. A scatter's batch dimensions are reductions too: every part updates its
// own copy, and the copies are combined; its indexed dimensions are permutations.
#include <algorithm>

#include "sharding/rules/rule.h"

namespace shoal {
namespace {

bool Has(const IntVector& list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

int64_t IndexOf(const IntVector& list, int64_t value) {
  const auto it = std::find(list.begin(), list.end(), value);
  return it == list.end() ? -1 : it - list.begin();
}

FactorRule GatherRule(const Instruction& instruction) {
  const auto& gather = instruction.attributes<GatherAttributes>();
  const Shape& operand = instruction.operand(0)->shape();
  const Shape& indices = instruction.operand(1)->shape();
  RuleBuilder rule(instruction);
  // The result's batch dimensions are the indices' dimensions, but for the index vector, in order.
  int64_t result_dim = 0;
  for (int64_t d = 0; d < indices.rank(); ++d) {
    if (d == gather.index_vector_dim) continue;
    while (Has(gather.offset_dims, result_dim)) ++result_dim;
    const int64_t batch = IndexOf(gather.start_indices_batching_dims, d);
    rule.Add({batch < 0 ? -1 : gather.operand_batching_dims[batch], d}, {result_dim++});
  }
  size_t offset = 0;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (Has(gather.collapsed_slice_dims, d) || Has(gather.operand_batching_dims, d)) continue;
    const int64_t out = gather.offset_dims[offset++];
    if (gather.slice_sizes[d] == operand.dim(d)) rule.Add({d, -1}, {out});
  }
  for (int64_t d : gather.collapsed_slice_dims) {
    if (Has(gather.start_index_map, d)) rule.Add({d, -1}, {-1}, FactorKind::kReduction);
  }
  return rule.SetCombiner(Combiner::kAdd).Build();
}

FactorRule ScatterRule(const Instruction& instruction) {
  const auto& scatter = instruction.attributes<ScatterAttributes>();
  const int64_t inputs = (instruction.operand_count() - 1) / 2;
  const Shape& operand = instruction.operand(0)->shape();
  const Shape& indices = instruction.operand(inputs)->shape();
  const Shape& updates = instruction.operand(inputs + 1)->shape();
  const Combiner combiner = inputs == 1 ? CombinerOf(*instruction.called(0)) : Combiner::kRegion;
  RuleBuilder rule(instruction);
  auto dims = [&](int64_t of_operand, int64_t of_indices, int64_t of_updates) {
    std::vector<int64_t> all(inputs, of_operand);
    all.push_back(of_indices);
    all.insert(all.end(), inputs, of_updates);
    return all;
  };
  int64_t update_dim = 0;
  for (int64_t d = 0; d < indices.rank(); ++d) {
    if (d == scatter.index_vector_dim) continue;
    while (Has(scatter.update_window_dims, update_dim)) ++update_dim;
    const int64_t batch = IndexOf(scatter.scatter_indices_batching_dims, d);
    if (batch >= 0) {
      const int64_t in = scatter.input_batching_dims[batch];
      rule.Add(dims(in, d, update_dim), std::vector<int64_t>(inputs, in));
    } else {
      rule.Add(dims(-1, d, update_dim), {},
               combiner == Combiner::kAdd ? FactorKind::kReduction : FactorKind::kNeedReplication);
    }
    ++update_dim;
  }
  size_t window = 0;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (Has(scatter.inserted_window_dims, d) || Has(scatter.input_batching_dims, d)) continue;
    const int64_t of_updates = scatter.update_window_dims[window++];
    if (updates.dim(of_updates) == operand.dim(d)) {
      rule.Add(dims(d, -1, of_updates), std::vector<int64_t>(inputs, d));
    } else {
      // Part of the dimension, at an index: operand and result shard alike, but the update goes anywhere.
      rule.Add(dims(d, -1, -1), std::vector<int64_t>(inputs, d), FactorKind::kPermutation);
    }
  }
  for (int64_t d : scatter.inserted_window_dims) {
    rule.Add(dims(d, -1, -1), std::vector<int64_t>(inputs, d), FactorKind::kPermutation);
  }
  return rule.SetCombiner(combiner).Build();
}

}  // namespace

FactorRule gather_rule(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kGather ? GatherRule(instruction) : ScatterRule(instruction);
}

}  // namespace shoal

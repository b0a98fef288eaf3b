// sort along a split dimension: by samples (sample_sort.h), or the axes go to another dimension, or it is
// gathered; whichever costs least.
//
// topk along a split dimension: each part finds its own best, these are gathered, and the best of them are
// the result. Parts come in order, and each gives equals in the order of their indices, so that the lower
// index still comes first.
#include <algorithm>
#include <limits>

#include "core/base/status.h"
#include "sharding/mesh/axes.h"
#include "sharding/partition/region.h"
#include "sharding/partition/sample_sort.h"
#include "sharding/reshard/cost.h"

namespace shoal {
namespace {

// Elements of the last dimension at `positions`, row by row.
Instruction* TakeAlongLast(LocalBuilder& b, Instruction* x, Instruction* positions) {
  const int64_t last = x->shape().rank() - 1;
  GatherAttributes gather;
  for (int64_t d = 0; d < last; ++d) {
    gather.operand_batching_dims.push_back(d);
    gather.start_indices_batching_dims.push_back(d);
  }
  gather.collapsed_slice_dims = gather.start_index_map = {last};
  gather.index_vector_dim = last + 1;
  gather.slice_sizes.assign(last + 1, 1);
  return b.Add(Opcode::kGather, positions->shape().WithElementType(x->shape().element_type()), {x, positions},
               std::move(gather));
}

}  // namespace

absl::Status PartitionSort(Region& region, const Instruction& old) {
  const FactorRule rule = RuleFor(old);
  const int factor = rule.operands[0][old.attributes<SortAttributes>().dimension][0];
  ChoiceProblem problem = region.ProblemAlong(old, rule, factor);
  problem.extra_cost = [&](const FactorAxesList& axes) {
    const int64_t parts = SizeOf(axes[factor]);
    if (parts == 1) return 0.0;
    if (!CanSampleSort(old, parts)) return std::numeric_limits<double>::infinity();
    const Shape part = LocalShape(old.operand(0)->shape(), *LayoutFor(rule, rule.operands[0], axes));
    return SampleSortCost(old, part, parts);
  };
  const Choice choice = ChooseFactorAxes(region.mesh(), problem, region.manual());
  const AxisList& axes = choice.axes[factor];
  if (axes.empty()) return PartitionWithChoice(region, old, rule, choice);
  std::vector<Instruction*> parts;
  for (int64_t i = 0; i < old.operand_count(); ++i) {
    parts.push_back(region.Get(old.operand(i), choice.operands[i]));
  }
  SHOAL_ASSIGN_OR_RETURN(const std::vector<Instruction*> sorted, SampleSort(region, old, parts, axes));
  for (size_t i = 0; i < sorted.size(); ++i) {
    region.SetResult(&old, static_cast<int64_t>(i), sorted[i], choice.results[i]);
  }
  return absl::OkStatus();
}

absl::Status PartitionTopK(Region& region, const Instruction& old) {
  const FactorRule rule = RuleFor(old);
  const Shape& shape = old.operand(0)->shape();
  const int64_t last = shape.rank() - 1;
  const int factor = rule.operands[0][last][0];
  const TopKAttributes top = old.attributes<TopKAttributes>();
  ChoiceProblem problem = region.ProblemAlong(old, rule, factor);
  problem.extra_cost = [&](const FactorAxesList& axes) {
    if (axes[factor].empty()) return 0.0;
    const int64_t parts = SizeOf(axes[factor]);
    // What stands past the end has no value that comes after all others.
    if (shape.dim(last) % parts != 0) return std::numeric_limits<double>::infinity();
    const int64_t each = std::min(top.k, shape.dim(last) / parts);
    const Shape local = LocalShape(shape, *LayoutFor(rule, rule.operands[0], axes));
    const double rows = static_cast<double>(local.ElementCount() / std::max<int64_t>(local.dim(last), 1));
    const double bytes = static_cast<double>(ByteWidth(shape.element_type()) + 4);
    return rows * bytes * static_cast<double>(each * (parts - 1)) + 2 * kStepCost;
  };
  const Choice choice = ChooseFactorAxes(region.mesh(), problem, region.manual());
  const AxisList& axes = choice.axes[factor];
  if (axes.empty()) return PartitionWithChoice(region, old, rule, choice);

  LocalBuilder& b = region.builder();
  const auto best_of = [&](Instruction* x, int64_t k) {
    DimVector dims(x->shape().dims().begin(), x->shape().dims().end());
    dims[last] = k;
    const Shape values = x->shape().WithDims(dims);
    return region.Explode(b.Add(Opcode::kTopK,
                                Shape::Tuple({values, values.WithElementType(ElementType::kS32)}), {x},
                                TopKAttributes{k, top.largest}));
  };
  Instruction* x = region.Get(old.operand(0), choice.operands[0]);
  const int64_t local = x->shape().dim(last);
  const std::vector<Instruction*> own = best_of(x, std::min(top.k, local));
  Instruction* begin = b.Binary(Opcode::kMultiply, b.Coordinate(axes), b.Position(local));
  begin = b.Convert(begin, ElementType::kS32);
  Instruction* indices = b.Binary(Opcode::kAdd, own[1], b.BroadcastScalar(begin, own[1]->shape().dims()));
  const std::vector<Instruction*> best = best_of(b.AllGather(own[0], axes, last), top.k);
  region.SetResult(&old, 0, best[0], choice.results[0]);
  region.SetResult(&old, 1, TakeAlongLast(b, b.AllGather(indices, axes, last), best[1]), choice.results[1]);
  return absl::OkStatus();
}

}  // namespace shoal

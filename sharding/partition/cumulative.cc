// Cumulative sums, products, maxima (reduce-window over all that comes before, or after) along a split
// dimension: each part does its own, the parts' totals are gathered, and what comes before a part is put in
// front of it. The traffic is one row a part, however long the dimension.
//
//   [1 2 | 3 4 | 5 6]
//   parts [1 3 | 3 7 | 5 11], totals 3 7 11, before 0 3 10, result [1 3 | 6 10 | 15 21]
#include <utility>

#include "sharding/mesh/axes.h"
#include "sharding/partition/region.h"

namespace shoal {
namespace {

struct Cumulative {
  int64_t dim = 0;
  bool reverse = false;
  Combiner combiner = Combiner::kNone;
};

// A scalar constant, through what only gives it a shape.
const Instruction* ConstantOf(const Instruction* scalar) {
  while (scalar->opcode() == Opcode::kBroadcast || scalar->opcode() == Opcode::kReshape) {
    scalar = scalar->operand(0);
  }
  return scalar->opcode() == Opcode::kConstant && scalar->shape().rank() == 0 ? scalar : nullptr;
}

bool Match(const Instruction& old, Cumulative& found) {
  if (old.opcode() != Opcode::kReduceWindow || old.operand_count() != 2) return false;
  const Shape& shape = old.operand(0)->shape();
  const Window& window = old.attributes<WindowAttributes>().window;
  found.dim = -1;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    const WindowDimension& w = window[d];
    if (w == WindowDimension()) continue;
    const int64_t n = shape.dim(d);
    WindowDimension before, after;
    before.size = after.size = n;
    before.padding_low = after.padding_high = n - 1;
    if (found.dim >= 0 || n < 2 || (w != before && w != after)) return false;
    found.dim = d;
    found.reverse = w == after;
  }
  if (found.dim < 0) return false;
  found.combiner = CombinerOf(*old.called(0));
  // Regions of several operations, such as log(exp(a) + exp(b)), are taken to have it as their identity, as
  // the specification asks.
  if (found.combiner == Combiner::kRegion) return true;
  const Instruction* init = ConstantOf(old.operand(1));
  return found.combiner != Combiner::kNone && init != nullptr &&
         init->literal() == IdentityOf(OpcodeOf(found.combiner), shape.element_type());
}

// `a` and `b` by the reduction's own computation.
Instruction* Combine(LocalBuilder& b, const Instruction& old, const Cumulative& c, Instruction* init,
                     Instruction* first, Instruction* second) {
  if (c.combiner != Combiner::kRegion) return b.Binary(OpcodeOf(c.combiner), first, second);
  DimVector dims(first->shape().dims().begin(), first->shape().dims().end());
  dims.insert(dims.begin(), 1);
  Instruction* both = b.Concatenate({b.Reshape(first, dims), b.Reshape(second, dims)}, 0);
  return b.Add(Opcode::kReduce, first->shape(), {both, init}, DimensionsAttributes{{0}}, old.called());
}

}  // namespace

bool TryCumulative(Region& region, const Instruction& old) {
  Cumulative c;
  if (!Match(old, c)) return false;
  const Layout layout = region.CurrentLayout(old.operand(0));
  const AxisList& axes = layout.dims[c.dim];
  if (axes.empty() || !layout.partial.empty()) return false;
  LocalBuilder& b = region.builder();
  Instruction* init = region.GetWhole(old.operand(1));
  Instruction* x =
      b.MaskPadding(region.Get(old.operand(0), layout), c.dim, old.shape().dim(c.dim), axes, init);
  const int64_t size = x->shape().dim(c.dim);
  WindowAttributes own = old.attributes<WindowAttributes>();
  own.window[c.dim].size = size;
  (c.reverse ? own.window[c.dim].padding_high : own.window[c.dim].padding_low) = size - 1;
  Instruction* local = b.Add(Opcode::kReduceWindow, x->shape(), {x, init}, own, old.called());

  Instruction* total = c.reverse ? b.Slice(local, c.dim, 0, 1) : b.Slice(local, c.dim, size - 1, size);
  Instruction* totals = b.AllGather(total, axes, c.dim);
  const Shape index_shape = totals->shape().WithElementType(b.position_type());
  Instruction* part = b.Add(Opcode::kIota, index_shape, {}, DimensionsAttributes{{c.dim}});
  Instruction* here = b.BroadcastScalar(b.Coordinate(axes), index_shape.dims());
  Instruction* counts =
      b.Compare(c.reverse ? ComparisonDirection::kGt : ComparisonDirection::kLt, part, here);
  totals = b.Select(counts, totals, b.BroadcastScalar(init, index_shape.dims()));
  DimVector others;
  IntVector other_dims;
  for (int64_t d = 0; d < x->shape().rank(); ++d) {
    if (d == c.dim) continue;
    others.push_back(x->shape().dim(d));
    other_dims.push_back(d);
  }
  Instruction* before = b.Add(Opcode::kReduce, x->shape().WithDims(others), {totals, init},
                              DimensionsAttributes{{c.dim}}, old.called());
  before = b.Add(Opcode::kBroadcast, x->shape(), {before}, DimensionsAttributes{std::move(other_dims)});
  if (c.reverse) std::swap(before, local);
  region.SetResult(&old, 0, Combine(b, old, c, init, before, local), layout);
  return true;
}

}  // namespace shoal

// dynamic-slice and dynamic-update-slice along split dimensions.
//
// dynamic-slice: each part gives the elements that it has, at their place in the result, and zero for the
// rest; the sum is the result. dynamic-update-slice: each part takes those elements of the update that fall
// into it; nothing moves.
#include "sharding/mesh/axes.h"
#include "sharding/partition/index_parts.h"
#include "sharding/partition/region.h"

namespace shoal {
namespace {

// Start index minus where this part begins, plus `shift`; the start is clamped to [0, high] first.
Instruction* StartHere(LocalBuilder& b, Instruction* start, int64_t high, const AxisList& axes, int64_t local,
                       int64_t shift) {
  Instruction* index = b.Convert(ClampedIndex(b, start, high), b.position_type());
  Instruction* offset = b.Binary(Opcode::kMultiply, b.Coordinate(axes), b.Position(local));
  return b.Binary(Opcode::kAdd, b.Binary(Opcode::kSubtract, index, offset), b.Position(shift));
}

// Of an array that begins at `start` of this part (maybe before it, maybe after its end) the part's range
// [0, local) along `dim`; what the array does not cover is zero.
Instruction* AlignTo(LocalBuilder& b, Instruction* array, int64_t dim, Instruction* start, int64_t local) {
  const int64_t size = array->shape().dim(dim);
  array = b.Pad(array, dim, local, local, b.Zero(array->shape().element_type()));
  Instruction* begin = b.Binary(Opcode::kSubtract, b.Position(local), start);
  begin = b.Binary(Opcode::kMaximum, begin, b.Position(0));
  begin = b.Binary(Opcode::kMinimum, begin, b.Position(local + size));
  return b.DynamicSlice(array, dim, begin, local);
}

// pred of `shape`: index along `dim` in [start, start+size).
Instruction* InRange(LocalBuilder& b, const Shape& shape, int64_t dim, Instruction* start, int64_t size) {
  const Shape index_shape = shape.WithElementType(b.position_type());
  Instruction* index = b.Add(Opcode::kIota, index_shape, {}, DimensionsAttributes{{dim}});
  index = b.Binary(Opcode::kSubtract, index, b.BroadcastScalar(start, index_shape.dims()));
  Instruction* zero = b.BroadcastScalar(b.Position(0), index_shape.dims());
  Instruction* end = b.BroadcastScalar(b.Position(size), index_shape.dims());
  return b.Binary(Opcode::kAnd, b.Compare(ComparisonDirection::kGe, index, zero),
                  b.Compare(ComparisonDirection::kLt, index, end));
}

Instruction* DynamicSliceAll(LocalBuilder& b, Instruction* x, absl::Span<Instruction* const> starts,
                             absl::Span<const int64_t> sizes) {
  std::vector<Instruction*> operands = {x};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return b.Add(Opcode::kDynamicSlice, x->shape().WithDims(sizes), operands,
               DynamicSliceAttributes{IntVector(sizes.begin(), sizes.end())});
}

// The start indices, all of the type that positions in a part have.
std::vector<Instruction*> Starts(Region& region, const Instruction& old, int64_t first,
                                 absl::Span<const int64_t> window) {
  std::vector<Instruction*> starts;
  const Shape& operand = old.operand(0)->shape();
  for (int64_t d = 0; d < operand.rank(); ++d) {
    Instruction* start =
        ClampedIndex(region.builder(), region.GetWhole(old.operand(first + d)), operand.dim(d) - window[d]);
    starts.push_back(region.builder().Convert(start, region.builder().position_type()));
  }
  return starts;
}

}  // namespace

absl::Status PartitionDynamicSlice(Region& region, const Instruction& old) {
  const FactorRule rule = RuleFor(old);
  const Choice choice = ChooseFactorAxes(region.mesh(), region.ProblemOf(old, rule), region.manual());
  if (choice.results[0].partial.empty()) return PartitionWithChoice(region, old, rule, choice);
  LocalBuilder& b = region.builder();
  const Shape& global = old.operand(0)->shape();
  const Shape shape = LocalShape(old.shape(), choice.results[0]);
  Instruction* x = region.Get(old.operand(0), choice.operands[0]);
  std::vector<Instruction*> starts = Starts(region, old, 1, old.shape().dims());
  for (int64_t d = 0; d < global.rank(); ++d) {
    const AxisList& axes = choice.operands[0].dims[d];
    const int64_t size = old.shape().dim(d), local = x->shape().dim(d);
    if (size == global.dim(d)) {  // taken whole: split like the result
      starts[d] = b.Position(0);
    } else if (!axes.empty()) {
      Instruction* zero = b.Zero(global.element_type());
      x = b.MaskPadding(x, d, global.dim(d), axes, zero);
      // With `size` zeros on both sides every start from -size to local is in range.
      x = b.Pad(x, d, size, size, zero);
      Instruction* start = StartHere(b, starts[d], global.dim(d) - size, axes, local, size);
      start = b.Binary(Opcode::kMaximum, start, b.Position(0));
      starts[d] = b.Binary(Opcode::kMinimum, start, b.Position(local + size));
    }
  }
  Instruction* local = DynamicSliceAll(b, x, starts, shape.dims());
  const Opcode sum = shape.element_type() == ElementType::kPred ? Opcode::kOr : Opcode::kAdd;
  region.SetResult(&old, 0, local, choice.results[0], sum);
  return absl::OkStatus();
}

absl::Status PartitionDynamicUpdateSlice(Region& region, const Instruction& old) {
  const FactorRule rule = RuleFor(old);
  ChoiceProblem problem = region.ProblemOf(old, rule);
  problem.splittable.assign(rule.factors.size(), true);
  // The update's own dimensions stay whole where they are not the array's.
  for (const FactorList& dim : rule.operands[1]) {
    for (int factor : dim) {
      problem.splittable[factor] = rule.factors[factor].kind == FactorKind::kPassThrough;
    }
  }
  const Choice choice = ChooseFactorAxes(region.mesh(), problem, region.manual());
  LocalBuilder& b = region.builder();
  const Shape& global = old.operand(0)->shape();
  const Shape& update_shape = old.operand(1)->shape();
  Instruction* x = region.Get(old.operand(0), choice.operands[0]);
  Instruction* update = region.Get(old.operand(1), choice.operands[1]);
  std::vector<Instruction*> starts = Starts(region, old, 2, update_shape.dims());
  std::vector<std::pair<int64_t, Instruction*>> split;  // dimension, start in this part
  for (int64_t d = 0; d < global.rank(); ++d) {
    const AxisList& axes = choice.operands[0].dims[d];
    if (update_shape.dim(d) == global.dim(d) || axes.empty()) continue;
    const int64_t local = x->shape().dim(d);
    Instruction* start = StartHere(b, starts[d], global.dim(d) - update_shape.dim(d), axes, local, 0);
    update = AlignTo(b, update, d, start, local);
    split.emplace_back(d, start);
    starts[d] = b.Position(0);
  }
  if (!split.empty()) {
    Instruction* inside = nullptr;
    for (const auto& [d, start] : split) {
      Instruction* in = InRange(b, update->shape(), d, start, update_shape.dim(d));
      inside = inside == nullptr ? in : b.Binary(Opcode::kAnd, inside, in);
    }
    update = b.Select(inside, update, DynamicSliceAll(b, x, starts, update->shape().dims()));
  }
  std::vector<Instruction*> operands = {x, update};
  operands.insert(operands.end(), starts.begin(), starts.end());
  Instruction* local = b.Add(Opcode::kDynamicUpdateSlice, x->shape(), operands);
  region.SetResult(&old, 0, local, choice.results[0]);
  return absl::OkStatus();
}

}  // namespace shoal

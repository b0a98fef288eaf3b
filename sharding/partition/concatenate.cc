// concatenate and reverse along a split dimension: the parts of the result are pieces of the operands' parts,
// which go where they are wanted (reshard/rearrange.h). A roll, which JAX writes as a concatenation, needs
// only its neighbours' ends.
#include <limits>

#include "sharding/mesh/axes.h"
#include "sharding/partition/region.h"
#include "sharding/reshard/cost.h"
#include "sharding/reshard/halo.h"
#include "sharding/reshard/rearrange.h"

namespace shoal {
namespace {

// concatenate(x[n-shift:], x[:n-shift]) along one dimension, as jnp.roll makes it.
struct Roll {
  const Instruction* x = nullptr;
  int64_t dim = 0, shift = 0;
};

bool IsPartOf(const Instruction* slice, const Instruction* x, int64_t dim, int64_t start, int64_t limit) {
  if (slice->opcode() != Opcode::kSlice || slice->operand(0) != x) return false;
  const auto& attributes = slice->attributes<SliceAttributes>();
  for (int64_t d = 0; d < x->shape().rank(); ++d) {
    if (attributes.strides[d] != 1 || attributes.starts[d] != (d == dim ? start : 0) ||
        attributes.limits[d] != (d == dim ? limit : x->shape().dim(d))) {
      return false;
    }
  }
  return true;
}

bool MatchRoll(const Instruction& old, Roll& roll) {
  if (old.opcode() != Opcode::kConcatenate || old.operand_count() != 2) return false;
  if (old.operand(0)->opcode() != Opcode::kSlice) return false;
  roll.x = old.operand(0)->operand(0);
  roll.dim = old.dimensions()[0];
  roll.shift = old.operand(0)->shape().dim(roll.dim);
  const int64_t n = roll.x->shape().dim(roll.dim);
  return IsPartOf(old.operand(0), roll.x, roll.dim, n - roll.shift, n) &&
         IsPartOf(old.operand(1), roll.x, roll.dim, 0, n - roll.shift);
}

// Along an evenly split dimension: the end of one neighbour and the beginning of the next, round the ring.
bool TryRoll(Region& region, const Instruction& old) {
  Roll roll;
  if (!MatchRoll(old, roll) || !region.Has(roll.x)) return false;
  const Layout layout = region.CurrentLayout(roll.x);
  const AxisList& axes = layout.dims[roll.dim];
  if (axes.empty() || !layout.partial.empty()) return false;
  if (roll.x->shape().dim(roll.dim) % SizeOf(axes) != 0) return false;
  Instruction* x = region.Get(roll.x, layout);
  region.SetResult(&old, 0, FetchRolled(region.builder(), x, roll.dim, axes, roll.shift), layout);
  return true;
}

// Part p of the result is [p*size, (p+1)*size) of the operands laid end to end.
Rearrangement Joined(const Instruction& old, const AxisList& axes) {
  Rearrangement r;
  r.dim = old.dimensions()[0];
  r.axes = axes;
  const int64_t parts = SizeOf(axes);
  r.size = LocalSize(old.shape().dim(r.dim), parts);
  r.wanted.resize(parts);
  int64_t begin = 0;
  for (int64_t i = 0; i < old.operand_count(); ++i) {
    const int64_t global = old.operand(i)->shape().dim(r.dim);
    r.globals.push_back(global);
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t low = std::max(begin, part * r.size);
      const int64_t high = std::min(begin + global, (part + 1) * r.size);
      if (low < high) r.wanted[part].push_back({i, low - begin, high - low, low - part * r.size});
    }
    begin += global;
  }
  return r;
}

// Part p gets what lies as far from the end as its own part does from the beginning, not reversed yet.
Rearrangement Opposite(const Shape& shape, int64_t dim, const AxisList& axes) {
  Rearrangement r;
  r.dim = dim;
  r.axes = axes;
  const int64_t parts = SizeOf(axes), global = shape.dim(dim);
  r.globals = {global};
  r.size = LocalSize(global, parts);
  r.wanted.resize(parts);
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t begin = global - (part + 1) * r.size, end = global - part * r.size;
    const int64_t low = std::max<int64_t>(begin, 0);
    if (low < end) r.wanted[part].push_back({0, low, end - low, low - begin});
  }
  return r;
}

// Bytes of one element of dimension `dim` of a part.
double RowBytes(const Shape& shape, int64_t dim, const FactorRule& rule, const TensorFactors& tensor,
                const FactorAxesList& axes) {
  double bytes = static_cast<double>(ByteWidth(shape.element_type()));
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (d == dim) continue;
    bytes *= static_cast<double>(LocalSize(shape.dim(d), SizeOf(axes[tensor[d][0]])));
  }
  return bytes;
}

double CostOf(const Rearrangement& r, double row_bytes) {
  const RearrangedTraffic traffic = TrafficOf(r);
  double copied = 2 * static_cast<double>(r.size);
  for (int64_t global : r.globals) copied += static_cast<double>(LocalSize(global, SizeOf(r.axes)));
  return row_bytes * (static_cast<double>(traffic.rows) + kMemoryByte * copied) +
         kStepCost * static_cast<double>(traffic.rounds);
}

}  // namespace

absl::Status PartitionConcatenate(Region& region, const Instruction& old) {
  if (TryRoll(region, old)) return absl::OkStatus();
  const FactorRule rule = RuleFor(old);
  const int64_t dim = old.dimensions()[0];
  const int factor = rule.results[0][dim][0];
  ChoiceProblem problem = region.ProblemAlong(old, rule, factor);
  problem.extra_cost = [&](const FactorAxesList& axes) {
    if (axes[factor].empty()) return 0.0;
    if (old.shape().dim(dim) == 0) return std::numeric_limits<double>::infinity();
    return CostOf(Joined(old, axes[factor]), RowBytes(old.shape(), dim, rule, rule.results[0], axes));
  };
  const Choice choice = ChooseFactorAxes(region.mesh(), problem, region.manual());
  const AxisList& axes = choice.axes[factor];
  if (axes.empty()) return PartitionWithChoice(region, old, rule, choice);
  std::vector<Instruction*> operands;
  for (int64_t i = 0; i < old.operand_count(); ++i) {
    operands.push_back(region.Get(old.operand(i), choice.operands[i]));
  }
  Instruction* joined = Rearrange(region.builder(), operands, Joined(old, axes));
  region.SetResult(&old, 0, joined, choice.results[0]);
  return absl::OkStatus();
}

absl::Status PartitionReverse(Region& region, const Instruction& old) {
  const FactorRule rule = RuleFor(old);
  const Shape& shape = old.shape();
  ChoiceProblem problem = region.ProblemOf(old, rule);
  problem.splittable.assign(rule.factors.size(), true);
  const auto is_even = [&](int64_t d, const AxisList& axes) { return shape.dim(d) % SizeOf(axes) == 0; };
  problem.extra_cost = [&](const FactorAxesList& axes) {
    double bytes = 0;
    for (int64_t d : old.dimensions()) {
      const AxisList& split = axes[rule.operands[0][d][0]];
      if (split.empty()) continue;
      const double row = RowBytes(shape, d, rule, rule.operands[0], axes);
      if (is_even(d, split)) {
        bytes += row * static_cast<double>(shape.dim(d) / SizeOf(split));
      } else {
        bytes += CostOf(Opposite(shape, d, split), row);
      }
    }
    return bytes;
  };
  const Choice choice = ChooseFactorAxes(region.mesh(), problem, region.manual());
  Instruction* operand = region.Get(old.operand(0), choice.operands[0]);
  for (int64_t d : old.dimensions()) {
    const AxisList& axes = choice.axes[rule.operands[0][d][0]];
    if (axes.empty()) continue;
    operand = is_even(d, axes) ? FetchMirrored(region.builder(), operand, axes)
                               : Rearrange(region.builder(), {operand}, Opposite(shape, d, axes));
  }
  Instruction* local = region.builder().Add(Opcode::kReverse, operand->shape(), {operand}, old.attributes());
  region.SetResult(&old, 0, local, choice.results[0]);
  return absl::OkStatus();
}

}  // namespace shoal

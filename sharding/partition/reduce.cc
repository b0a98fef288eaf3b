// reduce: the generic way, except that the initial value must count once, and that a region of several
// operations (argmax) is applied again to the gathered partial results.
#include <algorithm>

#include "sharding/mesh/axes.h"
#include "sharding/partition/region.h"
#include "sharding/reshard/cost.h"
#include "sharding/reshard/plan.h"

namespace shoal {
namespace {

bool IsIdentity(const Instruction* init, Opcode combiner) {
  return init->opcode() == Opcode::kConstant &&
         init->literal() == IdentityOf(combiner, init->shape().element_type());
}

// The axes over which partial results come out.
AxisList ReducedAxes(const FactorRule& rule, const Choice& choice) {
  AxisList reduced;
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    if (rule.factors[f].kind == FactorKind::kReduction) reduced = Concat(reduced, choice.axes[f]);
  }
  return reduced;
}

// The inputs in the chosen layout, with `neutral[i]` where input i has rubbish that would be reduced.
std::vector<Instruction*> MaskedInputs(Region& region, const Instruction& old, const FactorRule& rule,
                                       const Choice& choice, absl::Span<Instruction* const> neutral) {
  std::vector<Instruction*> inputs;
  for (size_t i = 0; i < neutral.size(); ++i) {
    Instruction* input = region.Get(old.operand(static_cast<int64_t>(i)), choice.operands[i]);
    for (int64_t d : old.dimensions()) {
      const int factor = rule.operands[i][d][0];
      input =
          region.builder().MaskPadding(input, d, rule.factors[factor].size, choice.axes[factor], neutral[i]);
    }
    inputs.push_back(input);
  }
  return inputs;
}

Instruction* LocalReduce(Region& region, const Instruction& old, absl::Span<Instruction* const> inputs,
                         absl::Span<Instruction* const> inits, IntVector dimensions, Shape shape) {
  std::vector<Instruction*> operands(inputs.begin(), inputs.end());
  operands.insert(operands.end(), inits.begin(), inits.end());
  return region.builder().Add(Opcode::kReduce, std::move(shape), operands,
                              DimensionsAttributes{std::move(dimensions)}, old.called());
}

absl::Status ReduceByOneOperation(Region& region, const Instruction& old, const FactorRule& rule,
                                  const Choice& choice) {
  const Opcode combiner = OpcodeOf(rule.combiner);
  LocalBuilder& builder = region.builder();
  Instruction* init = region.GetWhole(old.operand(1));
  const bool split = !choice.results[0].partial.empty();
  const bool init_later = split && !IsIdentity(old.operand(1), combiner);
  Instruction* start =
      init_later ? builder.computation()->AddConstant(IdentityOf(combiner, init->shape().element_type()))
                 : init;
  const std::vector<Instruction*> inputs = MaskedInputs(region, old, rule, choice, {start});
  Instruction* local =
      LocalReduce(region, old, inputs, {start}, IntVector(old.dimensions().begin(), old.dimensions().end()),
                  LocalShape(old.shape(), choice.results[0]));
  if (!init_later) {
    region.SetResult(&old, 0, local, choice.results[0], combiner);
    return absl::OkStatus();
  }
  const Layout wanted = region.WantedLayout(&old);
  local = region.Reshard(local, old.shape(), choice.results[0], wanted, combiner);
  local = builder.Binary(combiner, local, builder.BroadcastScalar(init, local->shape().dims()));
  region.SetLeaf(&old, 0, local, wanted);
  return absl::OkStatus();
}

// How the partial results of all parts come together: whole ones everywhere, or parts of them, split along
// `dim` of the result.
struct Meeting {
  int64_t dim = -1;
  double cost = 0;
};

Meeting CheapestMeeting(const Region& region, const Instruction& old, absl::Span<const Layout> layouts,
                        const AxisList& reduced) {
  const std::vector<Shape> leaves = old.shape().Leaves();
  const auto parts = static_cast<double>(SizeOf(reduced));
  // Of a meeting after which the results are split by `after` axes more along `dim`.
  const auto cost_of = [&](int64_t dim) {
    double cost = 0;
    for (size_t i = 0; i < leaves.size(); ++i) {
      Layout after = layouts[i];
      if (dim >= 0) after.dims[dim] = Concat(after.dims[dim], reduced);
      const double bytes = static_cast<double>(LocalShape(leaves[i], layouts[i]).ByteSize());
      cost += kStepCost + bytes * (parts - 1) / (dim < 0 ? 1 : parts);
      const Layout wanted = region.WantedLayout(&old, static_cast<int64_t>(i));
      cost += PlanReshard(region.mesh(), leaves[i], after, wanted, region.manual()).cost;
    }
    return cost;
  };
  Meeting best{-1, cost_of(-1)};
  for (int64_t d = 0; d < leaves[0].rank(); ++d) {
    if (leaves[0].dim(d) % (SizeOf(layouts[0].dims[d]) * SizeOf(reduced)) != 0) continue;
    if (const double cost = cost_of(d); cost < best.cost) best = {d, cost};
  }
  return best;
}

// All parts' results of `x` along a new first dimension, in the parts' order; of a split meeting this part's
// piece of each.
Instruction* Meet(LocalBuilder& b, Instruction* x, const AxisList& axes, int64_t dim) {
  DimVector dims(x->shape().dims().begin(), x->shape().dims().end());
  if (dim < 0) {
    dims.insert(dims.begin(), 1);
    return b.AllGather(b.Reshape(x, dims), axes, 0);
  }
  const int64_t parts = SizeOf(axes);
  dims[dim] /= parts;
  dims.insert(dims.begin() + dim, parts);
  IntVector order = {dim};
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d) {
    if (d != dim) order.push_back(d);
  }
  return b.AllToAll(b.Transpose(b.Reshape(x, dims), order), axes);
}

// Partial results of all parts are reduced by the region once more. In the order of the parts, so that a
// region that keeps the first of equals still does.
absl::Status ReduceByRegion(Region& region, const Instruction& old, const FactorRule& rule,
                            const Choice& choice) {
  const int64_t inputs = old.operand_count() / 2;
  std::vector<Instruction*> inits;
  for (int64_t i = 0; i < inputs; ++i) inits.push_back(region.GetWhole(old.operand(inputs + i)));
  std::vector<Layout> layouts = choice.results;
  for (Layout& layout : layouts) layout.partial.clear();
  Instruction* local = LocalReduce(region, old, MaskedInputs(region, old, rule, choice, inits), inits,
                                   IntVector(old.dimensions().begin(), old.dimensions().end()),
                                   Region::LocalTree(old.shape(), layouts));
  const AxisList reduced = ReducedAxes(rule, choice);
  if (!reduced.empty()) {
    const int64_t dim = CheapestMeeting(region, old, layouts, reduced).dim;
    std::vector<Instruction*> met;
    for (Instruction* part : region.Explode(local)) met.push_back(Meet(region.builder(), part, reduced, dim));
    for (Layout& layout : layouts) {
      if (dim >= 0) layout.dims[dim] = Concat(layout.dims[dim], reduced);
    }
    local = LocalReduce(region, old, met, inits, {0}, Region::LocalTree(old.shape(), layouts));
  }
  const std::vector<Instruction*> results = region.Explode(local);
  for (size_t i = 0; i < results.size(); ++i) {
    region.SetResult(&old, static_cast<int64_t>(i), results[i], layouts[i]);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status PartitionReduce(Region& region, const Instruction& old) {
  const FactorRule rule = RuleFor(old);
  ChoiceProblem problem = region.ProblemOf(old, rule);
  problem.splittable.assign(rule.factors.size(), true);
  const Choice choice = ChooseFactorAxes(region.mesh(), problem, region.manual());
  if (rule.combiner == Combiner::kRegion) return ReduceByRegion(region, old, rule, choice);
  return ReduceByOneOperation(region, old, rule, choice);
}

}  // namespace shoal

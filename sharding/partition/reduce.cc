// reduce: the generic way, except that the initial value must count once, and that a region of several
// operations (argmax) is applied again to the gathered partial results.
#include <algorithm>

#include "sharding/mesh/axes.h"
#include "sharding/partition/region.h"

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

// Partial results of all parts, gathered along a new first dimension, are reduced by the region once more. In
// the order of the parts, so that a region that keeps the first of equals still does.
absl::Status ReduceByRegion(Region& region, const Instruction& old, const FactorRule& rule,
                            const Choice& choice) {
  const int64_t inputs = old.operand_count() / 2;
  std::vector<Instruction*> inits;
  for (int64_t i = 0; i < inputs; ++i) inits.push_back(region.GetWhole(old.operand(inputs + i)));
  std::vector<Layout> layouts = choice.results;
  for (Layout& layout : layouts) layout.partial.clear();
  const Shape shape = Region::LocalTree(old.shape(), layouts);
  Instruction* local = LocalReduce(region, old, MaskedInputs(region, old, rule, choice, inits), inits,
                                   IntVector(old.dimensions().begin(), old.dimensions().end()), shape);
  const AxisList reduced = ReducedAxes(rule, choice);
  if (!reduced.empty()) {
    std::vector<Instruction*> gathered;
    for (Instruction* part : region.Explode(local)) {
      DimVector dims(part->shape().dims().begin(), part->shape().dims().end());
      dims.insert(dims.begin(), 1);
      gathered.push_back(region.builder().AllGather(region.builder().Reshape(part, dims), reduced, 0));
    }
    local = LocalReduce(region, old, gathered, inits, {0}, shape);
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

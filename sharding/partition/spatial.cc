// Operations whose locality is spatial: slice, pad, reduce-window, convolution. Along a split dimension each
// part of the result needs a window of the operand, which neighbours provide (reshard/halo.h); then the
// operation runs on it without padding. Where that costs more than moving the axes elsewhere or gathering,
// the choice says so and nothing here is special.
#include <algorithm>
#include <limits>
#include <optional>

#include "sharding/mesh/axes.h"
#include "sharding/partition/region.h"
#include "sharding/reshard/halo.h"

namespace shoal {

// Partitions a reduce-window that is cumulative along a split dimension; false: it is something else.
bool TryCumulative(Region& region, const Instruction& old);  // cumulative.cc
// Partitions a slice that is in few parts of split dimensions, if that costs less than `limit`.
bool TrySliceOfFewParts(Region& region, const Instruction& old, double limit);  // slice.cc

namespace {

// Along a dimension that is `whole` long, mostly the result's, element o needs places [begin + o*stride,
// + extent) of an operand whose own elements stand `dilation` places apart: element i at i*dilation.
struct SpatialUse {
  int factor = 0;
  int64_t operand = 0;
  int64_t dim = 0, whole = 0;
  int64_t begin = 0, stride = 1, extent = 1, dilation = 1;
  int64_t fill_operand = -1;  // this scalar operand stands outside the array; -1: zero; -2: anything

  // The first element at `begin` or after it.
  int64_t first() const { return begin >= 0 ? (begin + dilation - 1) / dilation : -(-begin / dilation); }
  // Places before that.
  int64_t gap() const { return first() * dilation - begin; }
  // Places that a part of `local` elements needs, and the operand's elements that stand there.
  int64_t places(int64_t local) const { return (local - 1) * stride + extent; }
  int64_t elements(int64_t local) const {
    return std::max<int64_t>(places(local) - gap() + dilation - 1, 0) / dilation;
  }
  // Places after the last of them.
  int64_t rest(int64_t local) const { return places(local) - gap() - ((elements(local) - 1) * dilation + 1); }
};

void AddWindowUse(const WindowDimension& w, SpatialUse use, std::vector<SpatialUse>& uses) {
  use.begin = -w.padding_low;
  use.stride = w.stride;
  use.extent = (w.size - 1) * w.window_dilation + 1;
  use.dilation = w.base_dilation;
  uses.push_back(use);
}

void AddReduceWindowUses(const Instruction& old, const FactorRule& rule, std::vector<SpatialUse>& uses) {
  const Window& window = old.attributes<WindowAttributes>().window;
  const int64_t inputs = old.operand_count() / 2;
  for (int64_t d = 0; d < static_cast<int64_t>(window.size()); ++d) {
    const int64_t whole = old.shape().Leaves()[0].dim(d);
    for (int64_t i = 0; i < inputs; ++i) {
      AddWindowUse(window[d], {rule.operands[i][d][0], i, d, whole, 0, 1, 1, 1, inputs + i}, uses);
    }
  }
}

void AddConvolutionUses(const Instruction& old, const FactorRule& rule, std::vector<SpatialUse>& uses) {
  const auto& conv = old.attributes<ConvolutionAttributes>();
  for (size_t i = 0; i < conv.window.size(); ++i) {
    const int64_t dim = conv.input_spatial[i];
    const int factor = rule.operands[0][dim][0];
    const WindowDimension& w = conv.window[i];
    const int64_t out = old.shape().dim(conv.output_spatial[i]);
    if (rule.factors[factor].kind == FactorKind::kPermutation) {
      AddWindowUse(w, {factor, 0, dim, out}, uses);
    } else {  // element k of the window meets all results
      uses.push_back({factor, 0, dim, w.size, -w.padding_low, w.window_dilation, (out - 1) * w.stride + 1,
                      w.base_dilation});
    }
  }
}

// A convolution's rule where the window is long and split as the operand is, as it is in the gradient by the
// kernel of images whose rows are split: every part sums over its own stretch of the window.
//
//   ([b, h, i], [k, i, o]) -> [b, h, o]     becomes     ([b, k, i], [k, i, o]) -> [b, h, o], k a reduction
//
// Nothing if no dimension is so. The work a point is divided by those windows, which are points now.
std::optional<FactorRule> RuleAlongWindow(const Region& region, const Instruction& old, FactorRule rule,
                                          double& flops_per_point) {
  if (old.opcode() != Opcode::kConvolution) return std::nullopt;
  const auto& conv = old.attributes<ConvolutionAttributes>();
  const Layout operand = region.CurrentLayout(old.operand(0)), kernel = region.CurrentLayout(old.operand(1));
  bool any = false;
  for (size_t i = 0; i < conv.window.size(); ++i) {
    const int64_t dim = conv.input_spatial[i], window_dim = conv.kernel_spatial[i];
    const AxisList& axes = kernel.dims[window_dim];
    const WindowDimension& w = conv.window[i];
    if (axes.empty() || axes != operand.dims[dim] || w.reversal || w.size % SizeOf(axes) != 0) continue;
    const int along = rule.operands[0][dim][0], of_window = rule.operands[1][window_dim][0];
    rule.factors[along] = Factor{w.size, FactorKind::kReduction};
    rule.factors[of_window] = Factor{old.shape().dim(conv.output_spatial[i]), FactorKind::kNeedReplication};
    rule.operands[1][window_dim] = {along};
    rule.results[0][conv.output_spatial[i]] = {of_window};
    flops_per_point /= static_cast<double>(w.size);
    any = true;
  }
  if (!any) return std::nullopt;
  return rule;
}

// All uses along factors that move values.
std::vector<SpatialUse> UsesOf(const Instruction& old, const FactorRule& rule) {
  std::vector<SpatialUse> all, uses;
  const int64_t rank = old.shape().IsArray() ? old.shape().rank() : 0;
  switch (old.opcode()) {
    case Opcode::kSlice: {
      const auto& slice = old.attributes<SliceAttributes>();
      for (int64_t d = 0; d < rank; ++d) {
        all.push_back(
            {rule.operands[0][d][0], 0, d, old.shape().dim(d), slice.starts[d], slice.strides[d], 1, 1, -2});
      }
      break;
    }
    case Opcode::kPad: {
      const auto& pad = old.attributes<PadAttributes>();
      for (int64_t d = 0; d < rank; ++d) {
        all.push_back(
            {rule.operands[0][d][0], 0, d, old.shape().dim(d), -pad.low[d], 1, 1, pad.interior[d] + 1, 1});
      }
      break;
    }
    case Opcode::kReduceWindow:
      AddReduceWindowUses(old, rule, all);
      break;
    case Opcode::kConvolution:
      AddConvolutionUses(old, rule, all);
      break;
    default:
      break;
  }
  for (const SpatialUse& use : all) {
    const FactorKind kind = rule.factors[use.factor].kind;
    if (kind == FactorKind::kPermutation || kind == FactorKind::kReduction) uses.push_back(use);
  }
  return uses;
}

HaloWindow WindowFor(const Instruction& old, const SpatialUse& use, const AxisList& axes) {
  const int64_t local = LocalSize(use.whole, SizeOf(axes));
  return {use.dim,
          axes,
          old.operand(use.operand)->shape().dim(use.dim),
          use.first(),
          local * use.stride / use.dilation,
          use.elements(local)};
}

// Of all windows under a choice.
double CostOfWindows(const Instruction& old, const FactorRule& rule, absl::Span<const SpatialUse> uses,
                     const FactorAxesList& axes) {
  double cost = 0;
  for (const SpatialUse& use : uses) {
    if (axes[use.factor].empty()) continue;
    const int64_t local = LocalSize(use.whole, SizeOf(axes[use.factor]));
    // All parts' windows have to begin alike between two elements.
    if (local == 0 || local * use.stride % use.dilation != 0 || use.elements(local) == 0) {
      return std::numeric_limits<double>::infinity();
    }
    const Shape& operand = old.operand(use.operand)->shape();
    double row = static_cast<double>(ByteWidth(operand.element_type()));
    for (int64_t d = 0; d < operand.rank(); ++d) {
      if (d == use.dim) continue;
      int64_t parts = 1;
      for (int factor : rule.operands[use.operand][d]) parts *= SizeOf(axes[factor]);
      row *= static_cast<double>(LocalSize(operand.dim(d), parts));
    }
    cost += HaloCost(WindowFor(old, use, axes[use.factor]), row);
  }
  return cost;
}

// What is before the first element of its window and after the last one, places between elements only.
void SetPadding(const SpatialUse& use, int64_t local, WindowDimension& w) {
  w.padding_low = use.gap();
  w.padding_high = use.rest(local);
}

// The operation on its windows: nothing is padded or cut off along split dimensions any more, but between the
// elements of a dilated operand.
Attributes WindowAttributesOf(const Instruction& old, Attributes attributes,
                              absl::Span<const SpatialUse> uses, const FactorAxesList& axes,
                              absl::Span<Instruction* const> operands) {
  for (const SpatialUse& use : uses) {
    if (axes[use.factor].empty()) continue;
    const int64_t local = LocalSize(use.whole, SizeOf(axes[use.factor]));
    if (auto* slice = std::get_if<SliceAttributes>(&attributes)) {
      slice->starts[use.dim] = 0;
      slice->limits[use.dim] = operands[0]->shape().dim(use.dim);
    } else if (auto* pad = std::get_if<PadAttributes>(&attributes)) {
      pad->low[use.dim] = use.gap();
      pad->high[use.dim] = use.rest(local);
    } else if (auto* window = std::get_if<WindowAttributes>(&attributes)) {
      SetPadding(use, local, window->window[use.dim]);
    } else if (auto* conv = std::get_if<ConvolutionAttributes>(&attributes)) {
      for (size_t i = 0; i < conv->input_spatial.size(); ++i) {
        if (conv->input_spatial[i] != use.dim) continue;
        SetPadding(use, local, conv->window[i]);
      }
    }
  }
  return attributes;
}

// How an operation is split: what it reads from where, and the choice.
struct SpatialPlan {
  FactorRule rule;
  std::vector<SpatialUse> uses;
  Choice choice;
};

SpatialPlan PlanFor(const Region& region, const Instruction& old, FactorRule rule, double flops_per_point) {
  SpatialPlan plan{std::move(rule), {}, {}};
  plan.uses = UsesOf(old, plan.rule);
  ChoiceProblem problem = region.ProblemOf(old, plan.rule);
  problem.splittable.assign(plan.rule.factors.size(), false);
  for (const SpatialUse& use : plan.uses) problem.splittable[use.factor] = true;
  problem.extra_cost = [&](const FactorAxesList& axes) {
    return CostOfWindows(old, plan.rule, plan.uses, axes);
  };
  problem.flops_per_point = flops_per_point;
  plan.choice = ChooseFactorAxes(region.mesh(), problem, region.manual());
  return plan;
}

SpatialPlan CheapestPlan(const Region& region, const Instruction& old) {
  const FactorRule rule = RuleFor(old);
  double flops_per_point = FlopsPerPoint(old);
  SpatialPlan plan = PlanFor(region, old, rule, flops_per_point);
  if (std::optional<FactorRule> other = RuleAlongWindow(region, old, rule, flops_per_point)) {
    SpatialPlan along = PlanFor(region, old, *std::move(other), flops_per_point);
    if (along.choice.cost < plan.choice.cost) return along;
  }
  return plan;
}

}  // namespace

absl::Status PartitionSpatial(Region& region, const Instruction& old) {
  if (TryCumulative(region, old)) return absl::OkStatus();
  const auto [rule, uses, choice] = CheapestPlan(region, old);
  if (old.opcode() == Opcode::kSlice && TrySliceOfFewParts(region, old, choice.cost)) {
    return absl::OkStatus();
  }
  const bool any_halo = std::any_of(uses.begin(), uses.end(), [&axes = choice.axes](const SpatialUse& use) {
    return !axes[use.factor].empty();
  });
  if (!any_halo) return PartitionWithChoice(region, old, rule, choice);

  LocalBuilder& builder = region.builder();
  std::vector<Instruction*> operands;
  std::vector<Shape> operand_shapes;
  for (int64_t i = 0; i < old.operand_count(); ++i) {
    operands.push_back(MaskReduced(region, rule, choice.axes, static_cast<size_t>(i),
                                   region.Get(old.operand(i), choice.operands[i]),
                                   IdentityOf(Opcode::kAdd, old.operand(i)->shape().element_type())));
  }
  for (const SpatialUse& use : uses) {
    const AxisList& axes = choice.axes[use.factor];
    if (axes.empty()) continue;
    Instruction* fill = use.fill_operand >= 0 ? operands[use.fill_operand] : nullptr;
    if (use.fill_operand == -1) fill = builder.Zero(old.operand(use.operand)->shape().element_type());
    operands[use.operand] = FetchWindow(builder, operands[use.operand], WindowFor(old, use, axes), fill);
  }
  for (Instruction* operand : operands) operand_shapes.push_back(operand->shape());
  const Shape shape = Region::LocalTree(old.shape(), choice.results);
  Attributes attributes = LocalAttributes(old, operand_shapes, shape.Leaves());
  attributes = WindowAttributesOf(old, std::move(attributes), uses, choice.axes, operands);
  Instruction* local = builder.Add(old.opcode(), shape, operands, std::move(attributes), old.called());
  const std::vector<Instruction*> results = region.Explode(local);
  for (size_t i = 0; i < results.size(); ++i) {
    region.SetResult(&old, static_cast<int64_t>(i), results[i], choice.results[i]);
  }
  return absl::OkStatus();
}

}  // namespace shoal

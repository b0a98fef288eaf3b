// Operations whose locality is spatial: slice, pad, reduce-window, convolution. Along a split dimension each
// part of the result needs a window of the operand, which neighbours provide (reshard/halo.h); then the
// operation runs on it without padding. Where that costs more than moving the axes elsewhere or gathering,
// the choice says so and nothing here is special.
#include <limits>

#include "sharding/mesh/axes.h"
#include "sharding/partition/region.h"
#include "sharding/reshard/halo.h"

namespace shoal {

// Partitions a reduce-window that is cumulative along a split dimension; false: it is something else.
bool TryCumulative(Region& region, const Instruction& old);  // cumulative.cc
// Partitions a slice that is in few parts of split dimensions, if that costs less than `limit`.
bool TrySliceOfFewParts(Region& region, const Instruction& old, double limit);  // slice.cc

namespace {

// Result element o along a dimension needs operand elements [first + o*stride, + extent). Where operand
// elements stand `dilation` apart in the result, element first stands at or after the result's begin.
struct SpatialUse {
  int factor = 0;
  int64_t operand = 0;
  int64_t dim = 0, result_dim = 0;
  int64_t first = 0, stride = 1, extent = 1;
  int64_t fill_operand = -1;  // this scalar operand stands outside the array; -1: zero; -2: anything
  int64_t dilation = 1;
};

void AddWindowUse(const WindowDimension& w, SpatialUse use, std::vector<SpatialUse>& uses) {
  if (w.base_dilation != 1) return;
  use.first = -w.padding_low;
  use.stride = w.stride;
  use.extent = (w.size - 1) * w.window_dilation + 1;
  uses.push_back(use);
}

void AddReduceWindowUses(const Instruction& old, const FactorRule& rule, std::vector<SpatialUse>& uses) {
  const Window& window = old.attributes<WindowAttributes>().window;
  const int64_t inputs = old.operand_count() / 2;
  for (int64_t d = 0; d < static_cast<int64_t>(window.size()); ++d) {
    for (int64_t i = 0; i < inputs; ++i) {
      AddWindowUse(window[d], {rule.operands[i][d][0], i, d, d, 0, 1, 1, inputs + i}, uses);
    }
  }
}

void AddConvolutionUses(const Instruction& old, const FactorRule& rule, std::vector<SpatialUse>& uses) {
  const auto& conv = old.attributes<ConvolutionAttributes>();
  for (size_t i = 0; i < conv.window.size(); ++i) {
    const int64_t dim = conv.input_spatial[i];
    AddWindowUse(conv.window[i], {rule.operands[0][dim][0], 0, dim, conv.output_spatial[i]}, uses);
  }
}

// The least i with i * apart >= position.
int64_t FirstAtOrAfter(int64_t position, int64_t apart) {
  return position >= 0 ? (position + apart - 1) / apart : -(-position / apart);
}

// All uses along factors that move values.
std::vector<SpatialUse> UsesOf(const Instruction& old, const FactorRule& rule) {
  std::vector<SpatialUse> all, uses;
  const int64_t rank = old.shape().IsArray() ? old.shape().rank() : 0;
  switch (old.opcode()) {
    case Opcode::kSlice: {
      const auto& slice = old.attributes<SliceAttributes>();
      for (int64_t d = 0; d < rank; ++d) {
        all.push_back({rule.operands[0][d][0], 0, d, d, slice.starts[d], slice.strides[d], 1, -2});
      }
      break;
    }
    case Opcode::kPad: {
      const auto& pad = old.attributes<PadAttributes>();
      for (int64_t d = 0; d < rank; ++d) {
        const int64_t apart = pad.interior[d] + 1;
        all.push_back({rule.operands[0][d][0], 0, d, d, FirstAtOrAfter(-pad.low[d], apart), 1, 1, 1, apart});
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
    if (rule.factors[use.factor].kind == FactorKind::kPermutation) uses.push_back(use);
  }
  return uses;
}

Shape FirstResult(const Instruction& old) { return old.shape().Leaves()[0]; }

HaloWindow WindowFor(const Instruction& old, const SpatialUse& use, const AxisList& axes) {
  // Of a dilated dimension a part has one operand element in `dilation` of its own.
  const int64_t local = LocalSize(FirstResult(old).dim(use.result_dim), SizeOf(axes)) / use.dilation;
  return {use.dim,
          axes,
          old.operand(use.operand)->shape().dim(use.dim),
          use.first,
          local * use.stride,
          (local - 1) * use.stride + use.extent};
}

// Bytes that all windows cost under a choice.
double HaloBytes(const Instruction& old, const FactorRule& rule, absl::Span<const SpatialUse> uses,
                 const FactorAxesList& axes) {
  double bytes = 0;
  for (const SpatialUse& use : uses) {
    if (axes[use.factor].empty()) continue;
    const int64_t local = LocalSize(FirstResult(old).dim(use.result_dim), SizeOf(axes[use.factor]));
    if (local == 0 || local % use.dilation != 0) return std::numeric_limits<double>::infinity();
    const Shape& operand = old.operand(use.operand)->shape();
    double row = static_cast<double>(ByteWidth(operand.element_type()));
    for (int64_t d = 0; d < operand.rank(); ++d) {
      if (d == use.dim) continue;
      int64_t parts = 1;
      for (int factor : rule.operands[use.operand][d]) parts *= SizeOf(axes[factor]);
      row *= static_cast<double>(LocalSize(operand.dim(d), parts));
    }
    const HaloWindow window = WindowFor(old, use, axes[use.factor]);
    // Sent, and copied.
    bytes += row * static_cast<double>(HaloRows(window)) + 0.1 * row * static_cast<double>(window.size) + 256;
  }
  return bytes;
}

// The operation on its windows: nothing is padded or cut off along split dimensions any more.
Attributes WindowAttributesOf(const Instruction& old, Attributes attributes,
                              absl::Span<const SpatialUse> uses, const FactorAxesList& axes,
                              absl::Span<Instruction* const> operands) {
  for (const SpatialUse& use : uses) {
    if (axes[use.factor].empty()) continue;
    if (auto* slice = std::get_if<SliceAttributes>(&attributes)) {
      slice->starts[use.dim] = 0;
      slice->limits[use.dim] = operands[0]->shape().dim(use.dim);
    } else if (auto* pad = std::get_if<PadAttributes>(&attributes)) {
      const int64_t local = LocalSize(old.shape().dim(use.dim), SizeOf(axes[use.factor]));
      pad->low[use.dim] = use.first * use.dilation + pad->low[use.dim];
      pad->high[use.dim] = local - pad->low[use.dim] - (local - use.dilation + 1);
    } else if (auto* window = std::get_if<WindowAttributes>(&attributes)) {
      window->window[use.dim].padding_low = window->window[use.dim].padding_high = 0;
    } else if (auto* conv = std::get_if<ConvolutionAttributes>(&attributes)) {
      for (size_t i = 0; i < conv->input_spatial.size(); ++i) {
        if (conv->input_spatial[i] != use.dim) continue;
        conv->window[i].padding_low = conv->window[i].padding_high = 0;
      }
    }
  }
  return attributes;
}

}  // namespace

absl::Status PartitionSpatial(Region& region, const Instruction& old) {
  if (TryCumulative(region, old)) return absl::OkStatus();
  const FactorRule rule = RuleFor(old);
  const std::vector<SpatialUse> uses = UsesOf(old, rule);
  ChoiceProblem problem = region.ProblemOf(old, rule);
  problem.splittable.assign(rule.factors.size(), false);
  for (const SpatialUse& use : uses) problem.splittable[use.factor] = true;
  problem.extra_cost = [&](const FactorAxesList& axes) { return HaloBytes(old, rule, uses, axes); };
  problem.flops_per_point = FlopsPerPoint(old);
  const Choice choice = ChooseFactorAxes(region.mesh(), problem, region.manual());
  if (old.opcode() == Opcode::kSlice && TrySliceOfFewParts(region, old, choice.cost)) {
    return absl::OkStatus();
  }
  bool any_halo = false;
  for (const SpatialUse& use : uses) any_halo |= !choice.axes[use.factor].empty();
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

// The gradient of pooling: where windows do not overlap and none crosses from part to part, each part
// scatters its own.
absl::Status PartitionSelectAndScatter(Region& region, const Instruction& old) {
  const FactorRule rule = RuleFor(old);
  const Window& window = old.attributes<WindowAttributes>().window;
  const Shape &operand = old.operand(0)->shape(), &source = old.operand(1)->shape();
  const auto stays_inside = [&](int64_t d, int64_t parts) {
    const WindowDimension& w = window[d];
    return w.padding_low == 0 && w.padding_high == 0 && w.window_dilation == 1 && w.base_dilation == 1 &&
           w.size <= w.stride && source.dim(d) % parts == 0 && operand.dim(d) == source.dim(d) * w.stride;
  };
  ChoiceProblem problem = region.ProblemOf(old, rule);
  problem.splittable.assign(rule.factors.size(), true);
  problem.extra_cost = [&](const FactorAxesList& axes) {
    for (int64_t d = 0; d < operand.rank(); ++d) {
      const int factor = rule.operands[0][d][0];
      if (rule.factors[factor].kind != FactorKind::kPermutation || axes[factor].empty()) continue;
      if (!stays_inside(d, SizeOf(axes[factor]))) return std::numeric_limits<double>::infinity();
    }
    return 0.0;
  };
  return PartitionWithChoice(region, old, rule, ChooseFactorAxes(region.mesh(), problem, region.manual()));
}

}  // namespace shoal

// select-and-scatter, the gradient of pooling. Where windows do not overlap and none crosses from part to
// part, each part scatters its own. Otherwise each part fetches all windows that touch it, of the operand and
// of the source, finds the place that each of them selects, and scatters where that is its own:
//
//   4 windows of 3 elements, 2 apart, over 9 elements in 3 parts of 3:   0 1 2 | 3 4 5 | 6 7 8
//   part 1 fetches windows 1 and 2 (elements 2 to 6), which may select elements 3, 4 and 5 of its own
//
// What is past the array's ends is selected by no window, whatever `select` says of its value.
#include <algorithm>
#include <limits>

#include "core/passes/inline_calls.h"
#include "sharding/mesh/axes.h"
#include "sharding/partition/region.h"
#include "sharding/reshard/halo.h"

namespace shoal {
namespace {

// A place that is no element; one that is an element of another part.
constexpr int64_t kNowhere = -1, kElsewhere = -2;

int64_t FloorDiv(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

// Of one split dimension, the windows that touch part p: all of [first + p*step, + count), some of which may
// not, or may not exist.
struct Touched {
  int64_t dim = 0;
  AxisList axes;
  int64_t elements = 0, windows = 0;  // of the whole dimension
  int64_t local = 0;                  // elements of a part
  int64_t first = 0, step = 0, count = 0;
  WindowDimension window;

  int64_t extent() const { return (window.size - 1) * window.window_dilation + 1; }
  HaloWindow OfSource() const { return {dim, axes, windows, first, step, count}; }
  HaloWindow OfOperand() const {
    return {dim,
            axes,
            elements,
            first * window.stride - window.padding_low,
            step * window.stride,
            (count - 1) * window.stride + extent()};
  }
};

Touched TouchedAlong(const Instruction& old, int64_t dim, const AxisList& axes) {
  Touched t;
  t.dim = dim;
  t.axes = axes;
  t.elements = old.operand(0)->shape().dim(dim);
  t.windows = old.operand(1)->shape().dim(dim);
  t.local = LocalSize(t.elements, SizeOf(axes));
  t.window = old.attributes<WindowAttributes>().window[dim];
  if (t.elements == 0) return t;
  const int64_t stride = t.window.stride;
  t.step = t.local / stride;
  t.first = std::numeric_limits<int64_t>::max();
  int64_t last = std::numeric_limits<int64_t>::min();
  for (int64_t p = 0; p < SizeOf(axes) && p * t.local < t.elements; ++p) {
    const int64_t begin = p * t.local + t.window.padding_low;
    const int64_t end = std::min((p + 1) * t.local, t.elements) + t.window.padding_low;
    t.first = std::min(t.first, FloorDiv(begin - t.extent(), stride) + 1 - p * t.step);
    last = std::max(last, FloorDiv(end - 1, stride) - p * t.step);
  }
  t.count = last - t.first + 1;
  return t;
}

bool StaysInside(const Touched& t) {
  const WindowDimension& w = t.window;
  return w.padding_low == 0 && w.padding_high == 0 && w.window_dilation == 1 && w.size <= w.stride &&
         t.windows % SizeOf(t.axes) == 0 && t.elements == t.windows * w.stride;
}

// Dimensions that are split and whose windows are more than single elements.
std::vector<Touched> TouchedUnder(const Instruction& old, const FactorRule& rule,
                                  const FactorAxesList& axes) {
  std::vector<Touched> touched;
  for (int64_t d = 0; d < old.shape().rank(); ++d) {
    const int factor = rule.operands[0][d][0];
    if (rule.factors[factor].kind != FactorKind::kPermutation || axes[factor].empty()) continue;
    touched.push_back(TouchedAlong(old, d, axes[factor]));
  }
  return touched;
}

// Of what a part fetches.
double CostOfWindows(const Instruction& old, absl::Span<const Layout> layouts,
                     absl::Span<const Touched> touched) {
  double cost = 0;
  for (const Touched& t : touched) {
    if (t.elements == 0 || t.window.base_dilation != 1) return std::numeric_limits<double>::infinity();
    const std::pair<int64_t, HaloWindow> fetched[] = {{0, t.OfOperand()}, {1, t.OfSource()}};
    for (const auto& [operand, window] : fetched) {
      const Shape local = LocalShape(old.operand(operand)->shape(), layouts[operand]);
      const double row =
          static_cast<double>(local.ByteSize()) / static_cast<double>(std::max<int64_t>(local.dim(t.dim), 1));
      cost += HaloCost(window, row);
    }
  }
  return cost;
}

class PartScatter {
 public:
  PartScatter(Region& region, const Instruction& old, absl::Span<const Touched> touched)
      : region_(region), b_(region.builder()), old_(old), touched_(touched) {}

  // `operand` and `source` are this device's parts.
  Instruction* Emit(Instruction* operand, Instruction* source, Instruction* init) {
    const Shape own = operand->shape();
    place_type_ =
        own.ElementCount() <= std::numeric_limits<int32_t>::max() ? b_.position_type() : ElementType::kS64;
    for (const Touched& t : touched_) {
      operand = FetchWindow(b_, operand, t.OfOperand(), nullptr);
      source = FetchWindow(b_, source, t.OfSource(), nullptr);
    }
    Instruction* place = OnlyExisting(Selected(operand, PlacesOf(operand->shape(), own), source->shape()));
    ScatterAttributes scatter;
    scatter.inserted_window_dims = scatter.scatter_dims_to_operand_dims = {0};
    scatter.index_vector_dim = 1;
    const int64_t count = source->shape().ElementCount();
    Instruction* flat =
        b_.Add(Opcode::kScatter, Shape::Array(old_.shape().element_type(), {own.ElementCount()}),
               {b_.BroadcastScalar(init, {own.ElementCount()}), b_.Reshape(place, {count, 1}),
                b_.Reshape(source, {count})},
               std::move(scatter), {old_.called(1)});
    return b_.Reshape(flat, own.dims());
  }

 private:
  Instruction* Plus(Instruction* x, Instruction* y) { return b_.Binary(Opcode::kAdd, x, y); }
  Instruction* Splat(const Shape& shape, int64_t value) {
    return b_.BroadcastScalar(b_.Constant(IntLiteral(shape.element_type(), value)), shape.dims());
  }
  // Number along `dim` of each element of `shape`, whose first one is this part's `first + part*step`.
  Instruction* Number(const Shape& shape, int64_t dim, const AxisList& axes, int64_t first, int64_t step) {
    Instruction* begin = b_.Binary(Opcode::kMultiply, b_.Coordinate(axes), b_.Position(step));
    begin = b_.Convert(Plus(begin, b_.Position(first)), place_type_);
    return Plus(b_.Iota(shape, dim), b_.BroadcastScalar(begin, shape.dims()));
  }
  // x is in [0, size), and so was what `others` say.
  Instruction* Within(Instruction* x, int64_t size, Instruction* others) {
    Instruction* in = b_.And(b_.Compare(ComparisonDirection::kGe, x, Splat(x->shape(), 0)),
                             b_.Compare(ComparisonDirection::kLt, x, Splat(x->shape(), size)));
    return others == nullptr ? in : b_.And(others, in);
  }

  // Where each element of the fetched `block` is in the own part, row by row.
  Instruction* PlacesOf(const Shape& block, const Shape& own) {
    const Shape shape = block.WithElementType(place_type_);
    Instruction *place = Splat(shape, 0), *exists = nullptr, *is_own = nullptr;
    for (int64_t d = 0; d < block.rank(); ++d) {
      Instruction* at = b_.Iota(shape, d);
      for (const Touched& t : touched_) {
        if (t.dim != d) continue;
        const HaloWindow w = t.OfOperand();
        exists = Within(Number(shape, d, t.axes, w.first, w.step), t.elements, exists);
        at = Number(shape, d, t.axes, w.first, w.step - t.local);
        is_own = Within(at, t.local, is_own);
      }
      place = Plus(b_.Multiply(place, Splat(shape, own.dim(d))), at);
    }
    return b_.Select(exists, b_.Select(is_own, place, Splat(shape, kElsewhere)), Splat(shape, kNowhere));
  }

  // Of (value, place) twice, the one that `select` chooses; what is nowhere is chosen by none.
  Computation* Select(ElementType type) {
    Computation* body = region_.context().module().AddComputation("selected");
    std::vector<Instruction*> p;
    for (int64_t i = 0; i < 4; ++i) {
      p.push_back(body->AddParameter(i, Shape::Scalar(i % 2 == 0 ? type : place_type_)));
    }
    HloBuilder b(body);
    Instruction* keeps = InlineBody(*old_.called(0), {p[0], p[2]}, *body);
    Instruction* nowhere = b.Constant(IntLiteral(place_type_, kNowhere));
    Instruction* first = b.Compare(ComparisonDirection::kEq, p[1], nowhere);
    Instruction* exists = b.Compare(ComparisonDirection::kNe, p[3], nowhere);
    Instruction* takes = b.Or(first, b.And(exists, b.Unary(Opcode::kNot, keeps)));
    body->set_root(b.Tuple({b.Select(takes, p[2], p[0]), b.Select(takes, p[3], p[1])}));
    return body;
  }

  // The place that each window selects.
  Instruction* Selected(Instruction* operand, Instruction* places, const Shape& windows) {
    WindowAttributes attributes = old_.attributes<WindowAttributes>();
    for (const Touched& t : touched_) {
      attributes.window[t.dim].padding_low = attributes.window[t.dim].padding_high = 0;
    }
    const ElementType type = operand->shape().element_type();
    const Shape shape = Shape::Tuple({windows.WithElementType(type), windows.WithElementType(place_type_)});
    Instruction* both =
        b_.Add(Opcode::kReduceWindow, shape,
               {operand, places, b_.Zero(type), b_.Constant(IntLiteral(place_type_, kNowhere))},
               std::move(attributes), {Select(type)});
    return region_.Explode(both)[1];
  }

  // Nothing is scattered for windows before the first or after the last.
  Instruction* OnlyExisting(Instruction* places) {
    Instruction* exists = nullptr;
    for (const Touched& t : touched_) {
      exists = Within(Number(places->shape(), t.dim, t.axes, t.first, t.step), t.windows, exists);
    }
    return b_.Select(exists, places, Splat(places->shape(), kNowhere));
  }

  Region& region_;
  LocalBuilder& b_;
  const Instruction& old_;
  const absl::Span<const Touched> touched_;
  ElementType place_type_ = ElementType::kS32;
};

}  // namespace

absl::Status PartitionSelectAndScatter(Region& region, const Instruction& old) {
  const FactorRule rule = RuleFor(old);
  ChoiceProblem problem = region.ProblemOf(old, rule);
  problem.splittable.assign(rule.factors.size(), true);
  const auto crosses = [&](const FactorAxesList& axes) {
    const std::vector<Touched> touched = TouchedUnder(old, rule, axes);
    return !std::all_of(touched.begin(), touched.end(), StaysInside);
  };
  problem.extra_cost = [&](const FactorAxesList& axes) {
    if (!crosses(axes)) return 0.0;
    std::vector<Layout> layouts;
    for (const TensorFactors& tensor : rule.operands) layouts.push_back(*LayoutFor(rule, tensor, axes));
    return CostOfWindows(old, layouts, TouchedUnder(old, rule, axes));
  };
  const Choice choice = ChooseFactorAxes(region.mesh(), problem, region.manual());
  if (!crosses(choice.axes)) return PartitionWithChoice(region, old, rule, choice);
  const std::vector<Touched> touched = TouchedUnder(old, rule, choice.axes);
  Instruction* result =
      PartScatter(region, old, touched)
          .Emit(region.Get(old.operand(0), choice.operands[0]),
                region.Get(old.operand(1), choice.operands[1]), region.GetWhole(old.operand(2)));
  region.SetResult(&old, 0, result, choice.results[0]);
  return absl::OkStatus();
}

}  // namespace shoal

// Elements of reduce and reduce-window as a loop inside of an element's code. The fast way for a reduction
// that is the point of its kernel is reduce_kernel.cc.
#include <algorithm>

#include "core/base/status.h"
#include "core/codegen/element.h"
#include "core/codegen/window_position.h"
#include "core/ops/reduction.h"

namespace shoal {
namespace {

// A loop per entry of `extents`, with results carried through all of them.
absl::StatusOr<Carried> EmitNest(
    LaneBuilder& lanes, absl::Span<const int64_t> extents, std::vector<llvm::Value*>& indices,
    Carried initial,
    absl::FunctionRef<absl::StatusOr<Carried>(const std::vector<llvm::Value*>&, const Carried&)> body) {
  if (indices.size() == extents.size()) return body(indices, initial);
  return EmitLoopCarrying(lanes, lanes.I64(0), lanes.I64(extents[indices.size()]), 1, std::move(initial),
                          [&](llvm::Value* i, const Carried& current) {
                            indices.push_back(i);
                            auto result = EmitNest(lanes, extents, indices, current, body);
                            indices.pop_back();
                            return result;
                          });
}

// Carried values must have one type all the way: vectors if any lane may differ.
std::vector<Element> SplatAll(LaneBuilder& lanes, std::vector<Element> elements) {
  for (Element& element : elements) element = lanes.Splat(element);
  return elements;
}

// What a reduction carries from element to element: what its region gives, but sums of many floats run in
// f64, since they are added one after the other here.
class Running {
 public:
  Running(ElementEmitter& e, const Instruction& op, absl::Span<const int64_t> extents) : e_(e), op_(op) {
    const ElementType type = op.operand(0)->shape().element_type();
    wide_ = op.operand_count() == 2 && IsFloat(type) && BitWidth(type) <= 32 && Product(extents) >= kMany &&
            ReductionOpcode(*op.called(0)) == Opcode::kAdd;
  }

  absl::StatusOr<std::vector<Element>> Start() const {
    const int64_t n = op_.operand_count() / 2;
    std::vector<Element> values;
    for (int64_t k = 0; k < n; ++k) {
      SHOAL_ASSIGN_OR_RETURN(Element initial, e_.Emit(*op_.operand(n + k), {}));
      values.push_back(initial);
    }
    return SplatAll(e_.lanes(), Widened(std::move(values)));
  }

  absl::StatusOr<std::vector<Element>> Next(const std::vector<Element>& current,
                                            std::vector<Element> x) const {
    std::vector<Element> next;
    if (wide_) {
      next = {Element{e_.lanes().FAdd(current[0].re, Widened(std::move(x))[0].re)}};
    } else {
      std::vector<Element> arguments = current;
      arguments.insert(arguments.end(), x.begin(), x.end());
      SHOAL_ASSIGN_OR_RETURN(next, e_.EmitRegion(*op_.called(0), arguments));
    }
    return SplatAll(e_.lanes(), std::move(next));
  }

  std::vector<Element> Results(std::vector<Element> values) const {
    if (!wide_) return values;
    const ElementType type = op_.operand(0)->shape().element_type();
    llvm::Type* narrow = e_.lanes().LikeLanes(values[0].re, e_.lanes().RegisterType(type));
    return {e_.lanes().RoundTo(type, Element{e_.b().CreateFPTrunc(values[0].re, narrow)})};
  }

 private:
  static constexpr int64_t kMany = 64;

  std::vector<Element> Widened(std::vector<Element> values) const {
    if (!wide_) return values;
    return {
        Element{e_.b().CreateFPExt(values[0].re, e_.lanes().LikeLanes(values[0].re, e_.b().getDoubleTy()))}};
  }

  ElementEmitter& e_;
  const Instruction& op_;
  bool wide_ = false;
};

}  // namespace

absl::StatusOr<std::vector<Element>> EmitReduce(ElementEmitter& e, const Instruction& op, const Digits& at) {
  int64_t n = op.operand_count() / 2;
  const Shape& inner = op.operand(0)->shape();
  const Shape outer = op.shape().IsTuple() ? op.shape().element(0) : op.shape();
  DimVector strides = RowMajorStrides(inner.dims());
  std::vector<int64_t> outer_dim(inner.rank(), -1), extents, reduced_strides;
  int64_t kept = 0;
  for (int64_t d = 0; d < inner.rank(); ++d) {
    if (std::find(op.dimensions().begin(), op.dimensions().end(), d) != op.dimensions().end()) {
      extents.push_back(inner.dim(d));
      reduced_strides.push_back(strides[d]);
    } else {
      outer_dim[d] = kept++;
    }
  }
  Digits outer_digits = e.index().Move(at, outer, inner, outer_dim);
  const Running running(e, op, extents);
  SHOAL_ASSIGN_OR_RETURN(std::vector<Element> initial, running.Start());
  ElementEmitter::Scope scope(e);
  std::vector<llvm::Value*> indices;
  auto body = [&](const std::vector<llvm::Value*>& i, const Carried& current) -> absl::StatusOr<Carried> {
    Digits digits = outer_digits;
    for (size_t k = 0; k < i.size(); ++k)
      digits.push_back({e.index().Uniform(i[k]), reduced_strides[k], extents[k]});
    SortByStride(digits);
    std::vector<Element> elements;
    for (int64_t k = 0; k < n; ++k) {
      SHOAL_ASSIGN_OR_RETURN(elements.emplace_back(), e.Emit(*op.operand(k), digits));
    }
    SHOAL_ASSIGN_OR_RETURN(std::vector<Element> next,
                           running.Next(Unflatten(current, initial), std::move(elements)));
    return Flatten(next);
  };
  SHOAL_ASSIGN_OR_RETURN(Carried result, EmitNest(e.lanes(), extents, indices, Flatten(initial), body));
  return running.Results(Unflatten(result, initial));
}

WindowPosition PositionIn(ElementEmitter& e, const WindowDimension& dim, int64_t base_extent, Index o,
                          Index w) {
  IndexBuilder& index = e.index();
  LaneBuilder& lanes = e.lanes();
  if (dim.reversal) w = index.Add(index.Mul(w, -1), dim.size - 1);
  Index i =
      index.Add(index.Add(index.Mul(o, dim.stride), index.Mul(w, dim.window_dilation)), -dim.padding_low);
  WindowPosition position;
  if (dim.base_dilation > 1) {
    llvm::Value* rest = index.Value(index.Rem(i, dim.base_dilation));
    position.inside = lanes.Compare(llvm::CmpInst::ICMP_EQ, rest, lanes.I64(0));
  }
  int64_t spread = base_extent == 0 ? 0 : (base_extent - 1) * dim.base_dilation + 1;
  bool always = dim.padding_low <= 0 && dim.padding_high <= 0 && dim.base_dilation == 1;
  if (!always) {
    llvm::Value* in_range = lanes.Compare(llvm::CmpInst::ICMP_ULT, index.Value(i), lanes.I64(spread));
    position.inside = lanes.AndMask(position.inside, in_range);
  }
  position.index = index.Div(i, dim.base_dilation);
  return position;
}

absl::StatusOr<std::vector<Element>> EmitReduceWindow(ElementEmitter& e, const Instruction& op,
                                                      const Digits& at) {
  if (op.opcode() != Opcode::kReduceWindow) return NoEmitter(op);
  int64_t n = op.operand_count() / 2;
  const Window& window = op.attributes<WindowAttributes>().window;
  const Shape& inner = op.operand(0)->shape();
  const Shape outer = op.shape().IsTuple() ? op.shape().element(0) : op.shape();
  std::vector<Index> out = e.index().Dimensions(at, outer);
  std::vector<int64_t> extents;
  for (const WindowDimension& dim : window) extents.push_back(dim.size);
  const Running running(e, op, extents);
  SHOAL_ASSIGN_OR_RETURN(std::vector<Element> initial, running.Start());
  ElementEmitter::Scope scope(e);
  std::vector<llvm::Value*> loop_indices;
  auto body = [&](const std::vector<llvm::Value*>& w, const Carried& current) -> absl::StatusOr<Carried> {
    llvm::Value* inside = nullptr;
    std::vector<Index> position;
    for (int64_t d = 0; d < inner.rank(); ++d) {
      WindowPosition p = PositionIn(e, window[d], inner.dim(d), out[d], e.index().Uniform(w[d]));
      inside = e.lanes().AndMask(inside, p.inside);
      position.push_back(p.index);
    }
    Digits digits = e.index().FromDimensions(position, inner);
    const std::vector<Element> before = Unflatten(current, initial);
    std::vector<Element> elements;
    for (int64_t k = 0; k < n; ++k) {
      SHOAL_ASSIGN_OR_RETURN(elements.emplace_back(), e.EmitMasked(*op.operand(k), digits, inside));
    }
    SHOAL_ASSIGN_OR_RETURN(std::vector<Element> next, running.Next(before, std::move(elements)));
    for (int64_t k = 0; k < n && inside != nullptr; ++k)
      next[k] = e.lanes().Select(inside, next[k], before[k]);
    return Flatten(SplatAll(e.lanes(), next));
  };
  SHOAL_ASSIGN_OR_RETURN(Carried result, EmitNest(e.lanes(), extents, loop_indices, Flatten(initial), body));
  return running.Results(Unflatten(result, initial));
}

}  // namespace shoal

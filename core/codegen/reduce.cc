// Elements of reduce and reduce-window as a loop inside of an element's code. The fast way for a reduction
// that is the point of its kernel is reduce_kernel.cc.
#include <algorithm>

#include "core/base/status.h"
#include "core/codegen/element.h"
#include "core/codegen/window_position.h"

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

absl::StatusOr<std::vector<Element>> InitialValues(ElementEmitter& e, const Instruction& op) {
  int64_t n = op.operand_count() / 2;
  std::vector<Element> values;
  for (int64_t k = 0; k < n; ++k) {
    SHOAL_ASSIGN_OR_RETURN(Element initial, e.Emit(*op.operand(n + k), {}));
    values.push_back(initial);
  }
  return SplatAll(e.lanes(), values);
}

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
  SHOAL_ASSIGN_OR_RETURN(std::vector<Element> initial, InitialValues(e, op));
  ElementEmitter::Scope scope(e);
  std::vector<llvm::Value*> indices;
  auto body = [&](const std::vector<llvm::Value*>& i, const Carried& current) -> absl::StatusOr<Carried> {
    Digits digits = outer_digits;
    for (size_t k = 0; k < i.size(); ++k)
      digits.push_back({e.index().Uniform(i[k]), reduced_strides[k], extents[k]});
    SortByStride(digits);
    std::vector<Element> arguments = Unflatten(current, initial);
    for (int64_t k = 0; k < n; ++k) {
      SHOAL_ASSIGN_OR_RETURN(Element x, e.Emit(*op.operand(k), digits));
      arguments.push_back(x);
    }
    SHOAL_ASSIGN_OR_RETURN(std::vector<Element> next, e.EmitRegion(*op.called(0), arguments));
    return Flatten(SplatAll(e.lanes(), next));
  };
  SHOAL_ASSIGN_OR_RETURN(Carried result, EmitNest(e.lanes(), extents, indices, Flatten(initial), body));
  return Unflatten(result, initial);
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
  SHOAL_ASSIGN_OR_RETURN(std::vector<Element> initial, InitialValues(e, op));
  std::vector<int64_t> extents;
  for (const WindowDimension& dim : window) extents.push_back(dim.size);
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
    std::vector<Element> arguments = Unflatten(current, initial);
    std::vector<Element> before = arguments;
    for (int64_t k = 0; k < n; ++k) {
      SHOAL_ASSIGN_OR_RETURN(Element x, e.EmitMasked(*op.operand(k), digits, inside));
      arguments.push_back(x);
    }
    SHOAL_ASSIGN_OR_RETURN(std::vector<Element> next, e.EmitRegion(*op.called(0), arguments));
    for (int64_t k = 0; k < n && inside != nullptr; ++k)
      next[k] = e.lanes().Select(inside, next[k], before[k]);
    return Flatten(SplatAll(e.lanes(), next));
  };
  SHOAL_ASSIGN_OR_RETURN(Carried result, EmitNest(e.lanes(), extents, loop_indices, Flatten(initial), body));
  return Unflatten(result, initial);
}

}  // namespace shoal

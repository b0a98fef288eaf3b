// Elements of slice, reverse, pad, concatenate, dynamic-slice and dynamic-update-slice.
#include <algorithm>
#include <optional>

#include "core/base/status.h"
#include "core/codegen/element.h"

namespace shoal {

absl::StatusOr<std::vector<std::optional<Index>>> EmitStarts(ElementEmitter& e, const Instruction& op,
                                                             int64_t first_operand, const Shape& whole,
                                                             absl::Span<const int64_t> window) {
  std::vector<std::optional<Index>> starts(whole.rank());
  for (int64_t d = 0; d < whole.rank(); ++d) {
    if (window[d] == whole.dim(d)) continue;
    const Instruction& operand = *op.operand(first_operand + d);
    SHOAL_ASSIGN_OR_RETURN(llvm::Value * start, e.EmitScalarIndex(operand));
    llvm::Value* most = e.lanes().I64(whole.dim(d) - window[d]);
    if (IsSigned(operand.shape().element_type())) {
      start = e.lanes().Intrinsic(llvm::Intrinsic::smax, start, e.lanes().I64(0));
    }
    starts[d] = e.index().Uniform(e.lanes().Intrinsic(llvm::Intrinsic::umin, start, most));
  }
  return starts;
}

namespace {

// Positions in `inner` from those in `outer`: dimension d is replaced by indices[d], or taken over where that
// is empty (both shapes then have the same extent there, and digits stay as fine as they are).
Digits Compose(ElementEmitter& e, const Digits& at, const Shape& outer, const Shape& inner,
               absl::Span<const std::optional<Index>> indices) {
  DimVector strides = RowMajorStrides(inner.dims());
  std::vector<int64_t> kept(inner.rank());
  for (int64_t d = 0; d < inner.rank(); ++d) kept[d] = indices[d].has_value() ? -1 : d;
  Digits digits = e.index().Move(at, outer, inner, kept);
  for (int64_t d = 0; d < inner.rank(); ++d) {
    if (indices[d].has_value()) digits.push_back({*indices[d], strides[d], inner.dim(d)});
  }
  SortByStride(digits);
  return digits;
}

using Indices = std::vector<std::optional<Index>>;

absl::StatusOr<Element> EmitSlice(ElementEmitter& e, const Instruction& op, const Digits& at) {
  const auto& slice = op.attributes<SliceAttributes>();
  const Shape& inner = op.operand(0)->shape();
  Indices indices(inner.rank());
  for (int64_t d = 0; d < inner.rank(); ++d) {
    if (inner.dim(d) == op.shape().dim(d)) continue;
    Index i = e.index().Dimension(at, op.shape(), d);
    indices[d] =
        e.index().Add(e.index().Mul(i, slice.strides.empty() ? 1 : slice.strides[d]), slice.starts[d]);
  }
  return e.Emit(*op.operand(0), Compose(e, at, op.shape(), inner, indices));
}

absl::StatusOr<Element> EmitReverse(ElementEmitter& e, const Instruction& op, const Digits& at) {
  Indices indices(op.shape().rank());
  for (int64_t d : op.dimensions()) {
    Index i = e.index().Dimension(at, op.shape(), d);
    indices[d] = e.index().Add(e.index().Mul(i, -1), op.shape().dim(d) - 1);
  }
  return e.Emit(*op.operand(0), Compose(e, at, op.shape(), op.shape(), indices));
}

// low <= i < high, lane by lane.
llvm::Value* InRange(ElementEmitter& e, Index i, int64_t low, int64_t high) {
  LaneBuilder& lanes = e.lanes();
  llvm::Value* v = e.index().Value(i);
  llvm::Value* shifted = lanes.Binary(llvm::Instruction::Sub, v, lanes.I64(low));
  return lanes.Compare(llvm::CmpInst::ICMP_ULT, shifted, lanes.I64(std::max<int64_t>(0, high - low)));
}

absl::StatusOr<Element> EmitPad(ElementEmitter& e, const Instruction& op, const Digits& at) {
  const auto& pad = op.attributes<PadAttributes>();
  const Shape& inner = op.operand(0)->shape();
  llvm::Value* inside = nullptr;
  Indices indices(inner.rank());
  for (int64_t d = 0; d < inner.rank(); ++d) {
    int64_t interior = pad.interior.empty() ? 0 : pad.interior[d];
    if (pad.low[d] == 0 && interior == 0 && inner.dim(d) == op.shape().dim(d)) continue;
    Index i = e.index().Add(e.index().Dimension(at, op.shape(), d), -pad.low[d]);
    int64_t spread = inner.dim(d) == 0 ? 0 : (inner.dim(d) - 1) * (interior + 1) + 1;
    inside = e.lanes().AndMask(inside, InRange(e, i, 0, spread));
    if (interior > 0) {
      llvm::Value* rest = e.index().Value(e.index().Rem(i, interior + 1));
      inside = e.lanes().AndMask(inside, e.lanes().Compare(llvm::CmpInst::ICMP_EQ, rest, e.lanes().I64(0)));
      i = e.index().Div(i, interior + 1);
    }
    indices[d] = i;
  }
  SHOAL_ASSIGN_OR_RETURN(Element value,
                         e.EmitMasked(*op.operand(0), Compose(e, at, op.shape(), inner, indices), inside));
  if (inside == nullptr) return value;
  SHOAL_ASSIGN_OR_RETURN(Element filler, e.Emit(*op.operand(1), {}));
  return e.lanes().Select(inside, value, filler);
}

absl::StatusOr<Element> EmitConcatenate(ElementEmitter& e, const Instruction& op, const Digits& at) {
  int64_t d = op.dimensions()[0];
  Index i = e.index().Dimension(at, op.shape(), d);
  Element result;
  int64_t from = 0;
  for (const Instruction* operand : op.operands()) {
    int64_t extent = operand->shape().dim(d);
    if (extent == 0) continue;
    Indices indices(op.shape().rank());
    indices[d] = e.index().Add(i, -from);
    bool only = extent == op.shape().dim(d);
    llvm::Value* here = only ? nullptr : InRange(e, i, from, from + extent);
    Digits inner = Compose(e, at, op.shape(), operand->shape(), indices);
    SHOAL_ASSIGN_OR_RETURN(Element value, e.EmitMasked(*operand, inner, here));
    result = result.re == nullptr ? value : e.lanes().Select(here, value, result);
    from += extent;
  }
  return result;
}

absl::StatusOr<Element> EmitDynamicSlice(ElementEmitter& e, const Instruction& op, const Digits& at) {
  const Shape& inner = op.operand(0)->shape();
  SHOAL_ASSIGN_OR_RETURN(Indices indices, EmitStarts(e, op, 1, inner, op.shape().dims()));
  for (int64_t d = 0; d < inner.rank(); ++d) {
    if (indices[d].has_value())
      indices[d] = e.index().Add(*indices[d], e.index().Dimension(at, op.shape(), d));
  }
  return e.Emit(*op.operand(0), Compose(e, at, op.shape(), inner, indices));
}

absl::StatusOr<Element> EmitDynamicUpdateSlice(ElementEmitter& e, const Instruction& op, const Digits& at) {
  const Instruction& update = *op.operand(1);
  SHOAL_ASSIGN_OR_RETURN(Indices indices, EmitStarts(e, op, 2, op.shape(), update.shape().dims()));
  llvm::Value* inside = nullptr;
  for (int64_t d = 0; d < op.shape().rank(); ++d) {
    if (!indices[d].has_value()) continue;
    Index i = e.index().Dimension(at, op.shape(), d);
    Index negative = e.index().Mul(*indices[d], -1);
    indices[d] = e.index().Add(i, negative);
    inside = e.lanes().AndMask(inside, InRange(e, *indices[d], 0, update.shape().dim(d)));
  }
  Digits inner = Compose(e, at, op.shape(), update.shape(), indices);
  SHOAL_ASSIGN_OR_RETURN(Element value, e.EmitMasked(update, inner, inside));
  if (inside == nullptr) return value;
  SHOAL_ASSIGN_OR_RETURN(Element old, e.Emit(*op.operand(0), at));
  return e.lanes().Select(inside, value, old);
}

}  // namespace

absl::StatusOr<Element> EmitSliceFamily(ElementEmitter& e, const Instruction& op, const Digits& at) {
  switch (op.opcode()) {
    case Opcode::kSlice:
      return EmitSlice(e, op, at);
    case Opcode::kReverse:
      return EmitReverse(e, op, at);
    case Opcode::kPad:
      return EmitPad(e, op, at);
    case Opcode::kConcatenate:
      return EmitConcatenate(e, op, at);
    case Opcode::kDynamicSlice:
      return EmitDynamicSlice(e, op, at);
    case Opcode::kDynamicUpdateSlice:
      return EmitDynamicUpdateSlice(e, op, at);
    default:
      return NoEmitter(op);
  }
}

}  // namespace shoal

// Rules of slices, pads, concatenations.
#include <algorithm>
#include <cstring>
#include <optional>

#include "core/passes/match.h"
#include "core/passes/simplify.h"

namespace shoal {
namespace {

bool AllZero(const IntVector& values) {
  return std::all_of(values.begin(), values.end(), [](int64_t v) { return v == 0; });
}

Instruction* SliceOfWhole(Instruction& op, HloBuilder&) {
  const auto& slice = op.attributes<SliceAttributes>();
  // Only in a dimension of one element can there be a stride then, which picks that element, too.
  return op.operand(0)->shape() == op.shape() && AllZero(slice.starts) ? op.operand(0) : nullptr;
}

Instruction* SliceOfSlice(Instruction& op, HloBuilder& b) {
  Instruction* inner = op.operand(0);
  if (inner->opcode() != Opcode::kSlice) return nullptr;
  const auto &outer_slice = op.attributes<SliceAttributes>(),
             &inner_slice = inner->attributes<SliceAttributes>();
  IntVector starts, limits, strides;
  for (int64_t d = 0; d < op.shape().rank(); ++d) {
    starts.push_back(inner_slice.starts[d] + outer_slice.starts[d] * inner_slice.strides[d]);
    strides.push_back(inner_slice.strides[d] * outer_slice.strides[d]);
    // One past the last element that is taken.
    const int64_t count = op.shape().dim(d);
    limits.push_back(count == 0 ? starts[d] : starts[d] + (count - 1) * strides[d] + 1);
    if (starts[d] > inner->operand(0)->shape().dim(d)) return nullptr;
  }
  return b.Slice(inner->operand(0), std::move(starts), std::move(limits), std::move(strides));
}

// Slicing a dimension along which everything is the same only changes its size.
Instruction* SliceOfBroadcast(Instruction& op, HloBuilder& b) {
  Instruction* inner = op.operand(0);
  if (inner->opcode() != Opcode::kBroadcast) return nullptr;
  for (int64_t d : inner->dimensions()) {
    if (op.shape().dim(d) != inner->shape().dim(d)) return nullptr;
  }
  return b.Broadcast(inner->operand(0), op.shape().dims(),
                     inner->attributes<DimensionsAttributes>().dimensions);
}

// slice(transpose(x)) -> transpose(slice(x)), where nobody else wants the whole of it.
Instruction* SliceOfTranspose(Instruction& op, HloBuilder& b) {
  Instruction* inner = op.operand(0);
  if (inner->opcode() != Opcode::kTranspose || inner->users().size() > 1) return nullptr;
  const auto& slice = op.attributes<SliceAttributes>();
  IntVector permutation(inner->dimensions().begin(), inner->dimensions().end());
  const size_t rank = permutation.size();
  IntVector starts(rank), limits(rank), strides(rank);
  for (size_t d = 0; d < rank; ++d) {
    starts[permutation[d]] = slice.starts[d];
    limits[permutation[d]] = slice.limits[d];
    strides[permutation[d]] = slice.strides[d];
  }
  Instruction* part = b.Slice(inner->operand(0), std::move(starts), std::move(limits), std::move(strides));
  return b.Transpose(part, std::move(permutation));
}

// A slice inside one part of a concatenation.
Instruction* SliceOfConcatenate(Instruction& op, HloBuilder& b) {
  Instruction* inner = op.operand(0);
  if (inner->opcode() != Opcode::kConcatenate || op.shape().ElementCount() == 0) return nullptr;
  const int64_t d = inner->dimensions()[0];
  SliceAttributes slice = op.attributes<SliceAttributes>();
  int64_t begin = 0;
  for (Instruction* part : inner->operands()) {
    const int64_t end = begin + part->shape().dim(d);
    if (slice.starts[d] >= begin && slice.limits[d] <= end) {
      slice.starts[d] -= begin;
      slice.limits[d] -= begin;
      return b.Slice(part, slice.starts, slice.limits, slice.strides);
    }
    begin = end;
  }
  return nullptr;
}

bool IsConcatenateAlong(const Instruction& op, int64_t d) {
  return op.opcode() == Opcode::kConcatenate && op.dimensions()[0] == d;
}

// A slice over several parts of a concatenation, where it goes into another one along the same dimension and
// nobody wants the inner one whole: a chain of rolls becomes one. (Elsewhere it is better to slice what
// stands in memory than to choose between the parts for each element.)
Instruction* SliceAcrossConcatenate(Instruction& op, HloBuilder& b) {
  const Instruction& inner = *op.operand(0);
  if (inner.opcode() != Opcode::kConcatenate || op.shape().ElementCount() == 0) return nullptr;
  const int64_t d = inner.dimensions()[0];
  const auto goes_on = [d](const Instruction* slice) {
    return slice->opcode() == Opcode::kSlice &&
           std::all_of(slice->users().begin(), slice->users().end(),
                       [d](const Instruction* user) { return IsConcatenateAlong(*user, d); });
  };
  const SliceAttributes slice = op.attributes<SliceAttributes>();
  if (slice.strides[d] != 1 || op.users().empty()) return nullptr;
  if (!std::all_of(inner.users().begin(), inner.users().end(), goes_on)) return nullptr;
  std::vector<Instruction*> pieces;
  int64_t begin = 0;
  for (Instruction* part : inner.operands()) {
    const int64_t end = begin + part->shape().dim(d);
    SliceAttributes piece = slice;
    piece.starts[d] = std::max(slice.starts[d], begin) - begin;
    piece.limits[d] = std::min(slice.limits[d], end) - begin;
    if (piece.starts[d] < piece.limits[d])
      pieces.push_back(b.Slice(part, piece.starts, piece.limits, piece.strides));
    begin = end;
  }
  return b.Concatenate(pieces, d);
}

Instruction* PadNothing(Instruction& op, HloBuilder&) {
  const auto& pad = op.attributes<PadAttributes>();
  const bool nothing = AllZero(pad.low) && AllZero(pad.high) && op.operand(0)->shape() == op.shape();
  return nothing ? op.operand(0) : nullptr;
}

// pad(broadcast(c), c) -> broadcast(c), bit for bit the same value.
Instruction* PadWithTheSame(Instruction& op, HloBuilder& b) {
  Instruction *x = op.operand(0), *value = op.operand(1);
  const bool same = x->opcode() == Opcode::kBroadcast && x->operand(0) == value;
  const bool empty = x->shape().ElementCount() == 0;
  const Literal *of_x = SplatOf(x), *of_value = SplatOf(value);
  const bool equal = of_x != nullptr && of_value != nullptr &&
                     std::memcmp(of_x->data(), of_value->data(), ByteWidth(op.shape().element_type())) == 0;
  return same || empty || equal ? b.Broadcast(value, op.shape().dims(), {}) : nullptr;
}

// Only negative paddings: a slice.
Instruction* PadAsSlice(Instruction& op, HloBuilder& b) {
  const auto& pad = op.attributes<PadAttributes>();
  IntVector starts, limits;
  for (int64_t d = 0; d < op.shape().rank(); ++d) {
    if (pad.low[d] > 0 || pad.high[d] > 0 || (pad.interior[d] > 0 && op.operand(0)->shape().dim(d) > 1))
      return nullptr;
    starts.push_back(-pad.low[d]);
    limits.push_back(op.operand(0)->shape().dim(d) + pad.high[d]);
  }
  return b.Slice(op.operand(0), std::move(starts), std::move(limits));
}

Instruction* ConcatenateOfOne(Instruction& op, HloBuilder&) {
  return op.operand_count() == 1 ? op.operand(0) : nullptr;
}

Instruction* ConcatenateEmptyParts(Instruction& op, HloBuilder& b) {
  const int64_t d = op.dimensions()[0];
  std::vector<Instruction*> parts;
  for (Instruction* part : op.operands()) {
    if (part->shape().dim(d) > 0) parts.push_back(part);
  }
  if (parts.empty() || static_cast<int64_t>(parts.size()) == op.operand_count()) return nullptr;
  return b.Concatenate(parts, d);
}

// concatenate(concatenate(x, y), z) -> concatenate(x, y, z), where nobody else wants the inner one.
Instruction* ConcatenateOfConcatenate(Instruction& op, HloBuilder& b) {
  const int64_t d = op.dimensions()[0];
  std::vector<Instruction*> parts;
  for (Instruction* part : op.operands()) {
    if (IsConcatenateAlong(*part, d) && part->users().size() == 1) {
      parts.insert(parts.end(), part->operands().begin(), part->operands().end());
    } else {
      parts.push_back(part);
    }
  }
  return static_cast<int64_t>(parts.size()) == op.operand_count() ? nullptr : b.Concatenate(parts, d);
}

bool IsUnitSliceAlong(const Instruction& part, int64_t d) {
  if (part.opcode() != Opcode::kSlice) return false;
  const auto& slice = part.attributes<SliceAttributes>();
  for (int64_t k = 0; k < part.shape().rank(); ++k) {
    if (slice.strides[k] != 1) return false;
    if (k != d && part.shape().dim(k) != part.operand(0)->shape().dim(k)) return false;
  }
  return true;
}

// concatenate(x[0:2], x[2:5]) -> x[0:5]
Instruction* ConcatenateNeighbours(Instruction& op, HloBuilder& b) {
  const int64_t d = op.dimensions()[0];
  std::vector<Instruction*> parts(op.operands().begin(), op.operands().end());
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    const Instruction &left = *parts[i], &right = *parts[i + 1];
    if (!IsUnitSliceAlong(left, d) || !IsUnitSliceAlong(right, d) || left.operand(0) != right.operand(0))
      continue;
    const auto &l = left.attributes<SliceAttributes>(), &r = right.attributes<SliceAttributes>();
    if (l.limits[d] != r.starts[d]) continue;
    parts[i] = b.SliceInDim(left.operand(0), d, l.starts[d], r.limits[d]);
    parts.erase(parts.begin() + static_cast<int64_t>(i) + 1);
    return b.Concatenate(parts, d);
  }
  return nullptr;
}

// Equal parts that are all broadcasts of one scalar.
Instruction* ConcatenateSplats(Instruction& op, HloBuilder& b) {
  const Instruction* first = op.operand(0);
  if (first->opcode() != Opcode::kBroadcast || !first->operand(0)->shape().IsScalar()) return nullptr;
  for (const Instruction* part : op.operands()) {
    if (part->opcode() != Opcode::kBroadcast || part->operand(0) != first->operand(0)) return nullptr;
  }
  return b.Broadcast(first->operand(0), op.shape().dims(), {});
}

Instruction* DynamicSliceOfWhole(Instruction& op, HloBuilder&) {
  return op.operand(0)->shape() == op.shape() ? op.operand(0) : nullptr;  // starts clamp to 0
}

// Where dimension `d` starts: clamped as the operation clamps; none if it is not constant and not forced.
std::optional<int64_t> ConstantStart(const Instruction& op, int64_t first_index, int64_t d, int64_t size) {
  const int64_t last = op.operand(0)->shape().dim(d) - size;
  if (last == 0) return 0;
  const Instruction* index = op.operand(first_index + d);
  const auto start = ScalarInt(index);
  if (!start) return std::nullopt;
  if (index->shape().element_type() == ElementType::kU64 && *start < 0) return std::nullopt;
  return std::clamp<int64_t>(*start, 0, last);
}

Instruction* DynamicSliceAtConstant(Instruction& op, HloBuilder& b) {
  IntVector starts, limits;
  for (int64_t d = 0; d < op.shape().rank(); ++d) {
    const auto start = ConstantStart(op, 1, d, op.shape().dim(d));
    if (!start) return nullptr;
    starts.push_back(*start);
    limits.push_back(*start + op.shape().dim(d));
  }
  return b.Slice(op.operand(0), std::move(starts), std::move(limits));
}

Instruction* DynamicSliceOfScalarBroadcast(Instruction& op, HloBuilder& b) {
  Instruction* x = op.operand(0);
  if (x->opcode() != Opcode::kBroadcast || !x->operand(0)->shape().IsScalar()) return nullptr;
  return b.Broadcast(x->operand(0), op.shape().dims(), {});
}

Instruction* UpdateWhole(Instruction& op, HloBuilder&) {
  if (op.operand(1)->shape() == op.shape()) return op.operand(1);
  return op.operand(1)->shape().ElementCount() == 0 ? op.operand(0) : nullptr;
}

Instruction* ReverseNothing(Instruction& op, HloBuilder&) {
  for (int64_t d : op.dimensions()) {
    if (op.shape().dim(d) > 1) return nullptr;
  }
  return op.operand(0);
}
Instruction* ReverseTwice(Instruction& op, HloBuilder&) {
  Instruction* inner = op.operand(0);
  if (inner->opcode() != Opcode::kReverse) return nullptr;
  IntVector a(op.dimensions().begin(), op.dimensions().end());
  IntVector c(inner->dimensions().begin(), inner->dimensions().end());
  std::sort(a.begin(), a.end());
  std::sort(c.begin(), c.end());
  return a == c ? inner->operand(0) : nullptr;
}
Instruction* ReverseOfScalarBroadcast(Instruction& op, HloBuilder&) {
  Instruction* x = op.operand(0);
  return x->opcode() == Opcode::kBroadcast && x->operand(0)->shape().IsScalar() ? x : nullptr;
}

constexpr SimplifyRow kRows[] = {
    {Opcode::kConcatenate, "concatenate of one", ConcatenateOfOne},
    {Opcode::kConcatenate, "concatenate of empty parts", ConcatenateEmptyParts},
    {Opcode::kConcatenate, "concatenate of concatenate", ConcatenateOfConcatenate},
    {Opcode::kConcatenate, "concatenate of neighbouring slices", ConcatenateNeighbours},
    {Opcode::kConcatenate, "concatenate of splats", ConcatenateSplats},
    {Opcode::kDynamicSlice, "dynamic-slice of the whole", DynamicSliceOfWhole},
    {Opcode::kDynamicSlice, "dynamic-slice at a constant", DynamicSliceAtConstant},
    {Opcode::kDynamicSlice, "dynamic-slice of a scalar's broadcast", DynamicSliceOfScalarBroadcast},
    {Opcode::kDynamicUpdateSlice, "update of the whole", UpdateWhole},
    {Opcode::kPad, "pad of nothing", PadNothing},
    {Opcode::kPad, "pad with the same", PadWithTheSame},
    {Opcode::kPad, "pad as slice", PadAsSlice},
    {Opcode::kReverse, "reverse of nothing", ReverseNothing},
    {Opcode::kReverse, "reverse twice", ReverseTwice},
    {Opcode::kReverse, "reverse of a scalar's broadcast", ReverseOfScalarBroadcast},
    {Opcode::kSlice, "slice of the whole", SliceOfWhole},
    {Opcode::kSlice, "slice of slice", SliceOfSlice},
    {Opcode::kSlice, "slice of broadcast", SliceOfBroadcast},
    {Opcode::kSlice, "slice of concatenate", SliceOfConcatenate},
    {Opcode::kSlice, "slice across a concatenate", SliceAcrossConcatenate},
    {Opcode::kSlice, "slice of transpose", SliceOfTranspose},
};

}  // namespace

absl::Span<const SimplifyRow> SliceRules() { return kRows; }

}  // namespace shoal

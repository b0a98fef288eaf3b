#include "core/passes/fold.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "core/ops/builder.h"

namespace shoal {
namespace {

// Bigger ones are better computed where they are used.
constexpr int64_t kMaxElements = 1024;

using MaybeInt = std::optional<int64_t>;
using Element = int64_t;  // of an integer or pred type, as Literal::AsInt gives it

// `value` wrapped to the type's width, as AsInt would give it back.
Element Wrapped(ElementType type, uint64_t value) {
  const int bits = BitWidth(type);
  if (bits >= 64) return static_cast<Element>(value);
  if (type == ElementType::kPred) return value != 0;
  const int shift = 64 - bits;
  return IsSigned(type) ? static_cast<int64_t>(value << shift) >> shift
                        : static_cast<int64_t>((value << shift) >> shift);
}

MaybeInt DivideOrRemainder(Opcode opcode, ElementType type, Element x, Element y) {
  if (y == 0 || (IsSigned(type) && y == -1))
    return std::nullopt;  // what these give is the code generator's to say
  const bool divide = opcode == Opcode::kDivide;
  if (type != ElementType::kU64) return divide ? x / y : x % y;
  const uint64_t ux = static_cast<uint64_t>(x), uy = static_cast<uint64_t>(y);
  return static_cast<Element>(divide ? ux / uy : ux % uy);
}

bool Less(ElementType type, Element x, Element y) {
  return type == ElementType::kU64 ? static_cast<uint64_t>(x) < static_cast<uint64_t>(y) : x < y;
}

// One element of a binary operation; none where it is not folded.
MaybeInt Binary(Opcode opcode, ElementType type, Element x, Element y) {
  const uint64_t ux = static_cast<uint64_t>(x), uy = static_cast<uint64_t>(y);
  const bool is_pred = type == ElementType::kPred;
  const uint64_t width = static_cast<uint64_t>(BitWidth(type));
  switch (opcode) {
    case Opcode::kAdd:
      return is_pred ? x | y : Wrapped(type, ux + uy);
    case Opcode::kSubtract:
      return is_pred ? MaybeInt() : Wrapped(type, ux - uy);
    case Opcode::kMultiply:
      return Wrapped(type, ux * uy);
    case Opcode::kAnd:
      return x & y;
    case Opcode::kOr:
      return x | y;
    case Opcode::kXor:
      return x ^ y;
    case Opcode::kMaximum:
      return Less(type, x, y) ? y : x;
    case Opcode::kMinimum:
      return Less(type, x, y) ? x : y;
    case Opcode::kDivide:
    case Opcode::kRemainder:
      return is_pred ? MaybeInt() : DivideOrRemainder(opcode, type, x, y);
    case Opcode::kShiftLeft:
      return uy < width ? MaybeInt(Wrapped(type, ux << uy)) : std::nullopt;
    case Opcode::kShiftRightLogical:
      if (uy >= width) return std::nullopt;
      return Wrapped(type, (width == 64 ? ux : ux & ((uint64_t{1} << width) - 1)) >> uy);
    case Opcode::kShiftRightArithmetic:
      return uy < width && IsSigned(type) ? MaybeInt(x >> uy) : std::nullopt;
    default:
      return std::nullopt;
  }
}

MaybeInt Unary(Opcode opcode, ElementType type, Element x) {
  switch (opcode) {
    case Opcode::kNegate:
      return Wrapped(type, uint64_t{0} - static_cast<uint64_t>(x));
    case Opcode::kAbs:
      return Wrapped(
          type, x < 0 && IsSigned(type) ? uint64_t{0} - static_cast<uint64_t>(x) : static_cast<uint64_t>(x));
    case Opcode::kNot:
      return type == ElementType::kPred ? Element{x == 0} : Wrapped(type, ~static_cast<uint64_t>(x));
    case Opcode::kSign:
      return type == ElementType::kU64 ? Element{x != 0} : Element{x > 0} - Element{x < 0};
    default:
      return std::nullopt;
  }
}

template <typename T>
bool Holds(ComparisonDirection direction, T x, T y) {
  switch (direction) {
    case ComparisonDirection::kEq:
      return x == y;
    case ComparisonDirection::kNe:
      return x != y;
    case ComparisonDirection::kGe:
      return x >= y;
    case ComparisonDirection::kGt:
      return x > y;
    case ComparisonDirection::kLe:
      return x <= y;
    case ComparisonDirection::kLt:
      return x < y;
  }
  return false;
}

MaybeInt Compared(const Instruction& op, int64_t i) {
  const auto& compare = op.attributes<CompareAttributes>();
  const Literal &x = op.operand(0)->literal(), &y = op.operand(1)->literal();
  const ElementType type = x.shape().element_type();
  if (IsComplex(type) || (IsFloat(type) && compare.total_order)) return std::nullopt;
  if (IsFloat(type)) return Holds(compare.direction, x.AsDouble(i), y.AsDouble(i));
  if (type == ElementType::kU64) return Holds(compare.direction, x.Get<uint64_t>(i), y.Get<uint64_t>(i));
  return Holds(compare.direction, x.AsInt(i), y.AsInt(i));
}

void StoreInt(Literal& literal, int64_t i, Element value) {
  const int width = ByteWidth(literal.shape().element_type());
  std::memcpy(literal.mutable_data() + i * width, &value, width);
}

bool IsIntLike(ElementType type) { return IsInteger(type) || type == ElementType::kPred; }

// One element of an operation whose result is an integer or pred.
MaybeInt IntElement(const Instruction& op, int64_t i) {
  if (op.opcode() == Opcode::kCompare) return Compared(op, i);
  const ElementType type = op.operand(0)->shape().element_type();
  if (!IsIntLike(type)) return std::nullopt;
  const Element x = op.operand(0)->literal().AsInt(i);
  if (op.operand_count() == 1) return Unary(op.opcode(), type, x);
  return op.operand_count() == 2 ? Binary(op.opcode(), type, x, op.operand(1)->literal().AsInt(i))
                                 : std::nullopt;
}

std::optional<Literal> FoldInts(const Instruction& op) {
  Literal result(op.shape());
  for (int64_t i = 0; i < op.shape().ElementCount(); ++i) {
    const MaybeInt element = IntElement(op, i);
    if (!element) return std::nullopt;
    StoreInt(result, i, *element);
  }
  return result;
}

// Copies element `from` of `source` to element `to` of `result`.
void CopyElement(const Literal& source, int64_t from, Literal& result, int64_t to) {
  const int width = ByteWidth(result.shape().element_type());
  std::memcpy(result.mutable_data() + to * width, source.data() + from * width, width);
}

std::optional<Literal> FoldSelect(const Instruction& op) {
  Literal result(op.shape());
  const Literal& predicate = op.operand(0)->literal();
  for (int64_t i = 0; i < op.shape().ElementCount(); ++i) {
    const bool on_true = predicate.AsInt(predicate.shape().IsScalar() ? 0 : i) != 0;
    CopyElement(op.operand(on_true ? 1 : 2)->literal(), i, result, i);
  }
  return result;
}

std::optional<Literal> FoldClamp(const Instruction& op) {
  const ElementType type = op.shape().element_type();
  if (!IsIntLike(type)) return std::nullopt;
  Literal result(op.shape());
  for (int64_t i = 0; i < op.shape().ElementCount(); ++i) {
    const auto at = [&](int64_t k) {
      const Literal& literal = op.operand(k)->literal();
      return literal.AsInt(literal.shape().IsScalar() ? 0 : i);
    };
    const Element raised = Less(type, at(1), at(0)) ? at(0) : at(1);
    StoreInt(result, i, Less(type, at(2), raised) ? at(2) : raised);
  }
  return result;
}

// Between integers: wraps. From integers to floats: rounds once. Between floats: rounds once. From floats to
// integers: only what fits.
std::optional<Literal> FoldConvert(const Instruction& op) {
  const Literal& from = op.operand(0)->literal();
  const ElementType source = from.shape().element_type(), target = op.shape().element_type();
  if (IsComplex(source) || IsComplex(target)) return std::nullopt;
  Literal result(op.shape());
  for (int64_t i = 0; i < op.shape().ElementCount(); ++i) {
    if (IsIntLike(source) && target == ElementType::kPred) {
      StoreInt(result, i, from.AsInt(i) != 0);
    } else if (IsIntLike(source) && IsInteger(target)) {
      StoreInt(result, i, Wrapped(target, static_cast<uint64_t>(from.AsInt(i))));
    } else if (!IsFloat(target)) {
      return std::nullopt;
    } else {
      const double value = from.AsDouble(i);
      // A 64-bit integer might be rounded twice, and which NaN comes out is not for us to say.
      if (std::isnan(value) || (IsIntLike(source) && std::fabs(value) > 0x1p53)) return std::nullopt;
      const Literal one = ScalarLiteral(target, value);
      CopyElement(one, 0, result, i);
    }
  }
  return result;
}

// A literal whose element at `index` (row-major position i) comes from element source(index) of `from`.
template <typename F>
Literal Moved(const Shape& shape, const Literal& from, F source) {
  Literal result(shape);
  DimVector index(shape.rank(), 0);
  for (int64_t i = 0; i < shape.ElementCount(); ++i) {
    CopyElement(from, source(index), result, i);
    for (int64_t d = shape.rank() - 1; d >= 0 && ++index[d] == shape.dim(d); --d) index[d] = 0;
  }
  return result;
}

std::optional<Literal> FoldMove(const Instruction& op) {
  const Literal& from = op.operand(0)->literal();
  const DimVector strides = RowMajorStrides(from.shape().dims());
  // Sum over operand dimensions of stride * coordinate.
  const auto position = [&](auto coordinate) {
    int64_t at = 0;
    for (int64_t d = 0; d < from.shape().rank(); ++d) at += strides[d] * coordinate(d);
    return at;
  };
  switch (op.opcode()) {
    case Opcode::kReshape: {
      absl::StatusOr<Literal> same =
          Literal::FromBytes(op.shape(), std::string(from.data(), from.size_bytes()));
      return same.ok() ? std::optional<Literal>(*std::move(same)) : std::nullopt;
    }
    case Opcode::kSlice: {
      const auto& slice = op.attributes<SliceAttributes>();
      return Moved(op.shape(), from, [&](const DimVector& index) {
        return position([&](int64_t d) { return slice.starts[d] + index[d] * slice.strides[d]; });
      });
    }
    case Opcode::kTranspose: {
      DimVector inverse(op.shape().rank());
      for (int64_t i = 0; i < op.shape().rank(); ++i) inverse[op.dimensions()[i]] = i;
      return Moved(op.shape(), from, [&](const DimVector& index) {
        return position([&](int64_t d) { return index[inverse[d]]; });
      });
    }
    case Opcode::kReverse: {
      const auto reversed = op.dimensions();
      return Moved(op.shape(), from, [&](const DimVector& index) {
        return position([&](int64_t d) {
          const bool turn = std::find(reversed.begin(), reversed.end(), d) != reversed.end();
          return turn ? from.shape().dim(d) - 1 - index[d] : index[d];
        });
      });
    }
    default:
      return std::nullopt;
  }
}

// Of vectors, as StableHLO programs build shapes and indices.
std::optional<Literal> FoldConcatenate(const Instruction& op) {
  if (op.shape().rank() != 1) return std::nullopt;
  std::string bytes;
  for (const Instruction* part : op.operands())
    bytes.append(part->literal().data(), part->literal().size_bytes());
  absl::StatusOr<Literal> result = Literal::FromBytes(op.shape(), std::move(bytes));
  return result.ok() ? std::optional<Literal>(*std::move(result)) : std::nullopt;
}

bool AllConstant(const Instruction& op) {
  return op.operand_count() > 0 &&
         std::all_of(op.operands().begin(), op.operands().end(),
                     [](const Instruction* x) { return x->opcode() == Opcode::kConstant; });
}

std::optional<Literal> FoldOne(const Instruction& op) {
  switch (op.opcode()) {
    case Opcode::kSelect:
      return FoldSelect(op);
    case Opcode::kClamp:
      return FoldClamp(op);
    case Opcode::kConvert:
      return FoldConvert(op);
    case Opcode::kConcatenate:
      return FoldConcatenate(op);
    case Opcode::kReshape:
    case Opcode::kSlice:
    case Opcode::kTranspose:
    case Opcode::kReverse:
      return FoldMove(op);
    default:
      return FamilyOf(op.opcode()) == OpFamily::kElementwise && IsIntLike(op.shape().element_type())
                 ? FoldInts(op)
                 : std::nullopt;
  }
}

bool FoldIn(Computation& computation) {
  bool changed = false;
  for (Instruction* op : computation.instructions()) {
    if ((op->users().empty() && op != computation.root()) || !AllConstant(*op) || !op->shape().IsArray() ||
        op->shape().ElementCount() > kMaxElements || !op->shardings().empty())
      continue;
    std::optional<Literal> value = FoldOne(*op);
    if (!value) continue;
    Instruction* constant = computation.AddConstant(*std::move(value));
    constant->set_op_name(op->op_name());
    op->ReplaceAllUsesWith(constant);
    changed = true;
  }
  if (changed) computation.SortTopologically();
  return changed;
}

}  // namespace

absl::StatusOr<bool> Fold(Module& module) {
  bool changed = false;
  for (Computation* computation : module.computations()) changed |= FoldIn(*computation);
  return changed;
}

}  // namespace shoal

// Rules of comparison and choice.
#include "core/passes/match.h"
#include "core/passes/simplify.h"

namespace shoal {
namespace {

using Direction = ComparisonDirection;

bool HoldsForEqual(Direction direction) {
  return direction == Direction::kEq || direction == Direction::kGe || direction == Direction::kLe;
}

// compare(x, x)
Instruction* CompareWithItself(Instruction& op, HloBuilder& b) {
  if (op.operand(0) != op.operand(1)) return nullptr;
  const auto& compare = op.attributes<CompareAttributes>();
  const ElementType type = op.operand(0)->shape().element_type();
  const bool may_be_nan = (IsFloat(type) || IsComplex(type)) && !compare.total_order;
  // NaN is neither equal to itself nor less than itself.
  if (may_be_nan && (HoldsForEqual(compare.direction) || compare.direction == Direction::kNe)) return nullptr;
  return b.Splat(op.shape(), HoldsForEqual(compare.direction));
}

// Whether a signed integer is sure not to be negative: it counts positions, or is made of such.
bool IsNonNegative(const Instruction* x, int depth = 4) {
  if (depth == 0) return false;
  switch (x->opcode()) {
    case Opcode::kIota: {  // counts on below zero where the type ends
      const int bits = BitWidth(x->shape().element_type());
      return bits > 32 || x->shape().dim(x->dimensions()[0]) <= int64_t{1} << (bits - 1);
    }
    case Opcode::kConstant:
      return x->shape().ElementCount() == 1 && x->literal().AsInt(0) >= 0;
    case Opcode::kBroadcast:
    case Opcode::kReshape:
    case Opcode::kSlice:
    case Opcode::kTranspose:
    case Opcode::kReverse:
      return IsNonNegative(x->operand(0), depth - 1);
    case Opcode::kConvert: {
      const ElementType from = x->operand(0)->shape().element_type(), to = x->shape().element_type();
      if (from == ElementType::kPred) return true;
      if (!IsInteger(from) || BitWidth(to) < BitWidth(from)) return false;
      return IsUnsigned(from) ? BitWidth(to) > BitWidth(from) : IsNonNegative(x->operand(0), depth - 1);
    }
    case Opcode::kMinimum:
      return IsNonNegative(x->operand(0), depth - 1) && IsNonNegative(x->operand(1), depth - 1);
    case Opcode::kMaximum:
    case Opcode::kAnd:
      return IsNonNegative(x->operand(0), depth - 1) || IsNonNegative(x->operand(1), depth - 1);
    case Opcode::kSelect:
      return IsNonNegative(x->operand(1), depth - 1) && IsNonNegative(x->operand(2), depth - 1);
    case Opcode::kClamp:
      return IsNonNegative(x->operand(0), depth - 1) && IsNonNegative(x->operand(2), depth - 1);
    default:
      return false;
  }
}

// Of what is not negative: x < 0, x >= 0. Of pred: x == true, x != false.
Instruction* CompareWithBound(Instruction& op, HloBuilder& b) {
  Instruction *x = op.operand(0), *y = op.operand(1);
  const Direction direction = op.attributes<CompareAttributes>().direction;
  const ElementType type = x->shape().element_type();
  if ((IsUnsigned(type) || (IsSigned(type) && IsNonNegative(x))) && IsSplatOf(y, 0)) {
    if (direction == Direction::kLt) return b.Splat(op.shape(), 0);
    if (direction == Direction::kGe) return b.Splat(op.shape(), 1);
  }
  if (type != ElementType::kPred) return nullptr;
  const bool same =
      (direction == Direction::kEq && IsSplatOf(y, 1)) || (direction == Direction::kNe && IsSplatOf(y, 0));
  const bool opposite =
      (direction == Direction::kNe && IsSplatOf(y, 1)) || (direction == Direction::kEq && IsSplatOf(y, 0));
  if (same) return x;
  return opposite ? b.Unary(Opcode::kNot, x) : nullptr;
}

Instruction* NotOfCompare(Instruction& op, HloBuilder& b) {
  Instruction* compare = op.operand(0);
  if (compare->opcode() != Opcode::kCompare || compare->users().size() > 1) return nullptr;
  CompareAttributes attributes = compare->attributes<CompareAttributes>();
  const ElementType type = compare->operand(0)->shape().element_type();
  const bool is_equality = attributes.direction == Direction::kEq || attributes.direction == Direction::kNe;
  // With NaN, not (x < y) is not x >= y; but not (x == y) is x != y.
  if ((IsFloat(type) || IsComplex(type)) && !attributes.total_order && !is_equality) return nullptr;
  switch (attributes.direction) {
    case Direction::kEq:
      attributes.direction = Direction::kNe;
      break;
    case Direction::kNe:
      attributes.direction = Direction::kEq;
      break;
    case Direction::kLt:
      attributes.direction = Direction::kGe;
      break;
    case Direction::kGe:
      attributes.direction = Direction::kLt;
      break;
    case Direction::kGt:
      attributes.direction = Direction::kLe;
      break;
    case Direction::kLe:
      attributes.direction = Direction::kGt;
      break;
  }
  return b.Op(Opcode::kCompare, {compare->operand(0), compare->operand(1)}, attributes);
}

Instruction* SelectByConstant(Instruction& op, HloBuilder&) {
  if (IsSplatOf(op.operand(0), 1)) return op.operand(1);
  return IsSplatOf(op.operand(0), 0) ? op.operand(2) : nullptr;
}
Instruction* SelectOfTheSame(Instruction& op, HloBuilder&) {
  return op.operand(1) == op.operand(2) ? op.operand(1) : nullptr;
}
Instruction* SelectByNot(Instruction& op, HloBuilder& b) {
  if (op.operand(0)->opcode() != Opcode::kNot) return nullptr;
  return b.Select(op.operand(0)->operand(0), op.operand(2), op.operand(1));
}
// select(p, true, false) -> p
Instruction* SelectOfPreds(Instruction& op, HloBuilder& b) {
  if (op.shape().element_type() != ElementType::kPred || op.operand(0)->shape() != op.shape()) return nullptr;
  if (IsSplatOf(op.operand(1), 1) && IsSplatOf(op.operand(2), 0)) return op.operand(0);
  if (IsSplatOf(op.operand(1), 0) && IsSplatOf(op.operand(2), 1)) return b.Unary(Opcode::kNot, op.operand(0));
  return nullptr;
}
// select(p, select(p, a, b), c) -> select(p, a, c)
Instruction* SelectTwiceByTheSame(Instruction& op, HloBuilder& b) {
  Instruction *p = op.operand(0), *on_true = op.operand(1), *on_false = op.operand(2);
  const auto same = [p](const Instruction* x) {
    return x->opcode() == Opcode::kSelect && x->operand(0) == p;
  };
  if (same(on_true)) return b.Select(p, on_true->operand(1), on_false);
  return same(on_false) ? b.Select(p, on_true, on_false->operand(2)) : nullptr;
}

constexpr SimplifyRow kRows[] = {
    {Opcode::kCompare, "compare with itself", CompareWithItself},
    {Opcode::kCompare, "compare with a bound", CompareWithBound},
    {Opcode::kNot, "not of a comparison", NotOfCompare},
    {Opcode::kSelect, "select by a constant", SelectByConstant},
    {Opcode::kSelect, "select of the same", SelectOfTheSame},
    {Opcode::kSelect, "select by not", SelectByNot},
    {Opcode::kSelect, "select of true and false", SelectOfPreds},
    {Opcode::kSelect, "select twice by the same", SelectTwiceByTheSame},
};

}  // namespace

absl::Span<const SimplifyRow> SelectRules() { return kRows; }

}  // namespace shoal

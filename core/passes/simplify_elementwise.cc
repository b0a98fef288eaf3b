// Rules of arithmetic, logic and conversion.
#include <cmath>
#include <cstring>

#include "core/ops/reduction.h"
#include "core/passes/match.h"
#include "core/passes/simplify.h"

namespace shoal {
namespace {

bool IsFloatLike(const Instruction& op) {
  return IsFloat(op.shape().element_type()) || IsComplex(op.shape().element_type());
}
bool IsExactType(const Instruction& op) {
  return !IsFloatLike(op);
}  // integers and pred: no NaN, no rounding

Instruction* LikeOf(const Instruction& op, HloBuilder& b, double value) { return b.Splat(op.shape(), value); }

// x op value, value op x -> x
template <int value>
Instruction* DropNeutral(Instruction& op, HloBuilder&) {
  if (IsSplatOf(op.operand(1), value)) return op.operand(0);
  if (IsSplatOf(op.operand(0), value)) return op.operand(1);
  return nullptr;
}
template <int value>
Instruction* DropRightNeutral(Instruction& op, HloBuilder&) {
  return IsSplatOf(op.operand(1), value) ? op.operand(0) : nullptr;
}

// x * 0, x and 0: for types without NaN.
Instruction* Absorb(Instruction& op, HloBuilder&) {
  if (!IsExactType(op)) return nullptr;
  for (int64_t i : {0, 1}) {
    if (IsSplatOf(op.operand(i), 0)) return op.operand(i);
  }
  return nullptr;
}

bool IsAllOnes(const Instruction* x) {
  const ElementType type = x->shape().element_type();
  return type == ElementType::kPred ? IsSplatOf(x, 1) : IsSigned(type) && IsSplatOf(x, -1);
}
Instruction* AndOnes(Instruction& op, HloBuilder&) {
  if (IsAllOnes(op.operand(1))) return op.operand(0);
  return IsAllOnes(op.operand(0)) ? op.operand(1) : nullptr;
}
Instruction* OrOnes(Instruction& op, HloBuilder&) {
  if (IsAllOnes(op.operand(1))) return op.operand(1);
  return IsAllOnes(op.operand(0)) ? op.operand(0) : nullptr;
}
Instruction* SameTwice(Instruction& op, HloBuilder&) {
  return op.operand(0) == op.operand(1) ? op.operand(0) : nullptr;
}
// max(x, -inf), min(x, the biggest integer): NaN goes through.
Instruction* BoundOfAll(Instruction& op, HloBuilder&) {
  const auto bound = ReductionIdentity(op.opcode(), op.shape().element_type());
  for (int64_t i : {0, 1}) {
    const Literal* value = SplatOf(op.operand(i));
    if (bound && value != nullptr &&
        std::memcmp(value->data(), bound->data(), ByteWidth(op.shape().element_type())) == 0)
      return op.operand(1 - i);
  }
  return nullptr;
}
Instruction* MinusItself(Instruction& op, HloBuilder& b) {
  return op.operand(0) == op.operand(1) && IsExactType(op) ? LikeOf(op, b, 0) : nullptr;
}
// f(f(x)) -> x
Instruction* Twice(Instruction& op, HloBuilder&) {
  return op.operand(0)->opcode() == op.opcode() ? op.operand(0)->operand(0) : nullptr;
}
// f(f(x)) -> f(x)
Instruction* OnceIsEnough(Instruction& op, HloBuilder&) {
  return op.operand(0)->opcode() == op.opcode() ? op.operand(0) : nullptr;
}
// x + -y -> x - y; exact for floats, too.
Instruction* AddNegated(Instruction& op, HloBuilder& b) {
  for (int64_t i : {1, 0}) {
    if (op.operand(i)->opcode() == Opcode::kNegate)
      return b.Subtract(op.operand(1 - i), op.operand(i)->operand(0));
  }
  return nullptr;
}
Instruction* SubtractNegated(Instruction& op, HloBuilder& b) {
  return op.operand(1)->opcode() == Opcode::kNegate ? b.Add(op.operand(0), op.operand(1)->operand(0))
                                                    : nullptr;
}
// (x op c) op d -> x op (c op d), where the order of integers does not matter.
Instruction* GatherConstants(Instruction& op, HloBuilder& b) {
  if (!IsInteger(op.shape().element_type()) || SplatOf(op.operand(1)) == nullptr) return nullptr;
  Instruction* inner = op.operand(0);
  if (inner->opcode() != op.opcode() || SplatOf(inner->operand(1)) == nullptr ||
      SplatOf(inner->operand(0)) != nullptr)
    return nullptr;
  return b.Binary(op.opcode(), inner->operand(0), b.Binary(op.opcode(), inner->operand(1), op.operand(1)));
}
// c op x -> x op c, so that other rules look at one side.
Instruction* ConstantsRight(Instruction& op, HloBuilder& b) {
  if (SplatOf(op.operand(0)) == nullptr || SplatOf(op.operand(1)) != nullptr) return nullptr;
  return b.Binary(op.opcode(), op.operand(1), op.operand(0));
}

// x / 2^n -> x * 2^-n, which is exact.
Instruction* DivideByPowerOfTwo(Instruction& op, HloBuilder& b) {
  const Literal* divisor = SplatOf(op.operand(1));
  if (divisor == nullptr || !IsFloat(op.shape().element_type()) || BitWidth(op.shape().element_type()) < 16)
    return nullptr;
  const double value = divisor->AsDouble(0);
  int exponent;
  if (!std::isfinite(value) || std::fabs(std::frexp(value, &exponent)) != 0.5) return nullptr;
  // Within the normal numbers of every type it is used for; f16 has 2^-14 to 2^15.
  if (std::abs(exponent) > 12) return nullptr;
  return b.Multiply(op.operand(0), LikeOf(op, b, 1 / value));
}

Instruction* PowerOfSmallInteger(Instruction& op, HloBuilder& b) {
  Instruction* x = op.operand(0);
  const bool is_float = IsFloat(op.shape().element_type());
  if (!is_float && !IsInteger(op.shape().element_type())) return nullptr;
  if (IsSplatOf(op.operand(1), 0)) return LikeOf(op, b, 1);
  if (IsSplatOf(op.operand(1), 1)) return x;
  if (IsSplatOf(op.operand(1), 2)) return b.Multiply(x, x);
  if (IsSplatOf(op.operand(1), 3)) return b.Multiply(b.Multiply(x, x), x);
  if (is_float && IsSplatOf(op.operand(1), -1)) return b.Divide(LikeOf(op, b, 1), x);
  return nullptr;
}

Instruction* AbsOfUnsigned(Instruction& op, HloBuilder&) {
  const ElementType type = op.shape().element_type();
  return IsUnsigned(type) ? op.operand(0) : nullptr;
}

Instruction* SameTypeAgain(Instruction& op, HloBuilder&) {
  return op.operand(0)->shape() == op.shape() ? op.operand(0) : nullptr;
}

// Whether every value of `from` is one of `to`.
bool HoldsAll(ElementType from, ElementType to) {
  if (from == to || from == ElementType::kPred) return true;
  if (IsInteger(from) && IsInteger(to)) {
    if (IsSigned(from) == IsSigned(to)) return BitWidth(to) >= BitWidth(from);
    return IsUnsigned(from) && BitWidth(to) > BitWidth(from);
  }
  if (from == ElementType::kF32) return to == ElementType::kF64;
  if (from == ElementType::kF16 || from == ElementType::kBF16)
    return to == ElementType::kF32 || to == ElementType::kF64;
  return from == ElementType::kC64 && to == ElementType::kC128;
}

// convert(convert(x)) -> convert(x), if the first loses nothing and the second then means the same.
Instruction* ConvertOfConvert(Instruction& op, HloBuilder& b) {
  if (op.operand(0)->opcode() != Opcode::kConvert) return nullptr;
  Instruction* x = op.operand(0)->operand(0);
  const ElementType from = x->shape().element_type(), through = op.operand(0)->shape().element_type();
  const ElementType to = op.shape().element_type();
  if (!HoldsAll(from, through)) return nullptr;
  // From integer by way of float to integer saturates where a direct conversion wraps.
  if (IsInteger(to) && !IsInteger(through) && from != to) return nullptr;
  if (from == ElementType::kPred && to != ElementType::kPred && !HoldsAll(from, to)) return nullptr;
  return b.Convert(x, to);
}

Instruction* BitcastConvertOfBitcastConvert(Instruction& op, HloBuilder& b) {
  if (op.operand(0)->opcode() != Opcode::kBitcastConvert) return nullptr;
  Instruction* x = op.operand(0)->operand(0);
  // Through pred bits would have to be 0 or 1.
  if (op.operand(0)->shape().element_type() == ElementType::kPred) return nullptr;
  if (IsComplex(x->shape().element_type()) != IsComplex(op.shape().element_type())) return nullptr;
  if (x->shape().dims() == op.shape().dims() && x->shape().element_type() == op.shape().element_type())
    return x;
  const bool same_rank =
      x->shape().dims() == op.operand(0)->shape().dims() && x->shape().dims() == op.shape().dims();
  return same_rank ? b.BitcastConvert(x, op.shape()) : nullptr;
}

template <int part>
Instruction* PartOfComplex(Instruction& op, HloBuilder& b) {
  Instruction* x = op.operand(0);
  if (x->opcode() == Opcode::kComplex) return x->operand(part);
  if (IsComplex(x->shape().element_type())) return nullptr;
  return part == 0 ? x : LikeOf(op, b, 0);
}
Instruction* ComplexOfParts(Instruction& op, HloBuilder&) {
  Instruction *real = op.operand(0), *imag = op.operand(1);
  const bool parts = real->opcode() == Opcode::kReal && imag->opcode() == Opcode::kImag &&
                     real->operand(0) == imag->operand(0) && real->operand(0)->shape() == op.shape();
  return parts ? real->operand(0) : nullptr;
}

Instruction* ReducePrecisionToOwn(Instruction& op, HloBuilder&) {
  const auto& bits = op.attributes<ReducePrecisionAttributes>();
  const ElementType type = op.shape().element_type();
  const auto holds = [&](int64_t exponent, int64_t mantissa) {
    return bits.exponent_bits >= exponent && bits.mantissa_bits >= mantissa;
  };
  const bool nothing =
      (type == ElementType::kF32 && holds(8, 23)) || (type == ElementType::kBF16 && holds(8, 7)) ||
      (type == ElementType::kF16 && holds(5, 10)) || (type == ElementType::kF64 && holds(11, 52));
  return nothing ? op.operand(0) : nullptr;
}

constexpr SimplifyRow kRows[] = {
    {Opcode::kAbs, "abs of unsigned", AbsOfUnsigned},
    {Opcode::kAbs, "abs of abs", OnceIsEnough},
    {Opcode::kAdd, "x + 0", DropNeutral<0>},
    {Opcode::kAdd, "x + -y", AddNegated},
    {Opcode::kAdd, "c + x", ConstantsRight},
    {Opcode::kAdd, "(x + c) + d", GatherConstants},
    {Opcode::kAnd, "x and x", SameTwice},
    {Opcode::kAnd, "x and 0", Absorb},
    {Opcode::kAnd, "x and ones", AndOnes},
    {Opcode::kBitcastConvert, "bitcast-convert to the same", SameTypeAgain},
    {Opcode::kBitcastConvert, "bitcast-convert twice", BitcastConvertOfBitcastConvert},
    {Opcode::kCeil, "ceil of ceil", OnceIsEnough},
    {Opcode::kComplex, "complex of parts", ComplexOfParts},
    {Opcode::kConvert, "convert to the same", SameTypeAgain},
    {Opcode::kConvert, "convert twice", ConvertOfConvert},
    {Opcode::kCopy, "copy", SameTypeAgain},
    {Opcode::kDivide, "x / 1", DropRightNeutral<1>},
    {Opcode::kDivide, "x / 2^n", DivideByPowerOfTwo},
    {Opcode::kFloor, "floor of floor", OnceIsEnough},
    {Opcode::kImag, "imag", PartOfComplex<1>},
    {Opcode::kMaximum, "max of the same", SameTwice},
    {Opcode::kMaximum, "max with the least", BoundOfAll},
    {Opcode::kMinimum, "min of the same", SameTwice},
    {Opcode::kMinimum, "min with the greatest", BoundOfAll},
    {Opcode::kMultiply, "x * 1", DropNeutral<1>},
    {Opcode::kMultiply, "x * 0", Absorb},
    {Opcode::kMultiply, "c * x", ConstantsRight},
    {Opcode::kMultiply, "(x * c) * d", GatherConstants},
    {Opcode::kNegate, "--x", Twice},
    {Opcode::kNot, "not not x", Twice},
    {Opcode::kOr, "x or x", SameTwice},
    {Opcode::kOr, "x or 0", DropNeutral<0>},
    {Opcode::kOr, "x or ones", OrOnes},
    {Opcode::kPower, "power of a small integer", PowerOfSmallInteger},
    {Opcode::kReal, "real", PartOfComplex<0>},
    {Opcode::kReducePrecision, "reduce-precision to its own", ReducePrecisionToOwn},
    {Opcode::kRoundNearestEven, "round twice", OnceIsEnough},
    {Opcode::kShiftLeft, "x << 0", DropRightNeutral<0>},
    {Opcode::kShiftRightArithmetic, "x >> 0", DropRightNeutral<0>},
    {Opcode::kShiftRightLogical, "x >>> 0", DropRightNeutral<0>},
    {Opcode::kSubtract, "x - 0", DropRightNeutral<0>},
    {Opcode::kSubtract, "x - x", MinusItself},
    {Opcode::kSubtract, "x - -y", SubtractNegated},
    {Opcode::kXor, "x xor 0", DropNeutral<0>},
    {Opcode::kXor, "x xor x", MinusItself},
};

}  // namespace

absl::Span<const SimplifyRow> ElementwiseRules() { return kRows; }

}  // namespace shoal

// Elementwise operations: rows that say which element types each takes, and the few whose result is of
// another type.
#include "core/ops/op_check.h"

namespace shoal {
namespace {

enum Classes : uint8_t {
  kB = 1,   // pred
  kI = 2,   // signed integers
  kU = 4,   // unsigned integers
  kF = 8,   // floats
  kC = 16,  // complex
  kInts = kI | kU,
  kNumbers = kI | kU | kF | kC,
  kAny = kB | kNumbers,
};

struct Row {
  Opcode opcode;
  int classes;
};

// Operations that are not here take everything.
constexpr Row kRows[] = {
    {Opcode::kAbs, kNumbers},
    {Opcode::kAcos, kF | kC},
    {Opcode::kAcosh, kF | kC},
    {Opcode::kAdd, kAny},
    {Opcode::kAnd, kB | kInts},
    {Opcode::kAsin, kF | kC},
    {Opcode::kAsinh, kF | kC},
    {Opcode::kAtan2, kF | kC},
    {Opcode::kAtanh, kF | kC},
    {Opcode::kCbrt, kF | kC},
    {Opcode::kCeil, kF},
    {Opcode::kClz, kInts},
    {Opcode::kComplex, kF},
    {Opcode::kCos, kF | kC},
    {Opcode::kCosh, kF | kC},
    {Opcode::kDivide, kNumbers},
    {Opcode::kErf, kF},
    {Opcode::kExp, kF | kC},
    {Opcode::kExpm1, kF | kC},
    {Opcode::kFloor, kF},
    {Opcode::kImag, kF | kC},
    {Opcode::kIsFinite, kF},
    {Opcode::kLog, kF | kC},
    {Opcode::kLog1p, kF | kC},
    {Opcode::kLogistic, kF | kC},
    {Opcode::kMaximum, kAny},
    {Opcode::kMinimum, kAny},
    {Opcode::kMultiply, kAny},
    {Opcode::kNegate, kNumbers},
    {Opcode::kNot, kB | kInts},
    {Opcode::kOr, kB | kInts},
    {Opcode::kPopcnt, kInts},
    {Opcode::kPower, kNumbers},
    {Opcode::kReal, kF | kC},
    {Opcode::kReducePrecision, kF},
    {Opcode::kRemainder, kNumbers},
    {Opcode::kRoundNearestAfz, kF},
    {Opcode::kRoundNearestEven, kF},
    {Opcode::kRsqrt, kF | kC},
    {Opcode::kShiftLeft, kInts},
    {Opcode::kShiftRightArithmetic, kInts},
    {Opcode::kShiftRightLogical, kInts},
    {Opcode::kSign, kNumbers},
    {Opcode::kSin, kF | kC},
    {Opcode::kSinh, kF | kC},
    {Opcode::kSqrt, kF | kC},
    {Opcode::kSubtract, kAny},
    {Opcode::kTan, kF | kC},
    {Opcode::kTanh, kF | kC},
    {Opcode::kXor, kB | kInts},
};

int ClassBit(ElementType type) {
  switch (ClassOf(type)) {
    case ElementClass::kBool:
      return kB;
    case ElementClass::kSigned:
      return kI;
    case ElementClass::kUnsigned:
      return kU;
    case ElementClass::kFloat:
      return kF;
    case ElementClass::kComplex:
      return kC;
    case ElementClass::kOpaque:
      return 0;
  }
  return 0;
}

absl::Status CheckTypes(const OpView& op) {
  for (const Row& row : kRows) {
    if (row.opcode != op.opcode) continue;
    for (int64_t i = 0; i < op.operand_count(); ++i) {
      const ElementType type = op.shape(i).element_type();
      SHOAL_OP_CHECK(op, "I1", ClassBit(type) & row.classes, "is not defined for ", ElementTypeName(type));
    }
  }
  return absl::OkStatus();
}

ElementType ComplexOf(ElementType real) {
  return real == ElementType::kF64 ? ElementType::kC128 : ElementType::kC64;
}

absl::StatusOr<Shape> ClampShape(const OpView& op) {
  const Shape &low = op.shape(0), &operand = op.shape(1), &high = op.shape(2);
  SHOAL_OP_CHECK(op, "C1", low.rank() == 0 || low.dims() == operand.dims(),
                 "min is neither a scalar nor like the operand");
  SHOAL_OP_CHECK(op, "C2", high.rank() == 0 || high.dims() == operand.dims(),
                 "max is neither a scalar nor like the operand");
  SHOAL_OP_CHECK(
      op, "C3", low.element_type() == operand.element_type() && high.element_type() == operand.element_type(),
      "element types differ");
  return operand;
}

absl::StatusOr<Shape> SelectShape(const OpView& op) {
  const Shape &pred = op.shape(0), &on_true = op.shape(1), &on_false = op.shape(2);
  SHOAL_OP_CHECK(op, "I1", pred.element_type() == ElementType::kPred, "the predicate is not of type pred");
  SHOAL_OP_CHECK(op, "C1", pred.rank() == 0 || pred.dims() == on_true.dims(),
                 "the predicate is neither a scalar nor like the values");
  SHOAL_OP_CHECK(op, "C2", on_true == on_false, "the values' shapes differ");
  return on_true;
}

absl::StatusOr<Shape> BitcastConvertShape(const OpView& op) {
  SHOAL_RETURN_IF_ERROR(CheckWanted(op));
  const Shape &from = op.shape(0), &to = *op.wanted;
  const int from_bits = BitWidth(from.element_type()), to_bits = BitWidth(to.element_type());
  SHOAL_OP_CHECK(op, "C2", IsComplex(from.element_type()) == IsComplex(to.element_type()),
                 "complex and other types do not mix");
  if (from_bits == to_bits) {
    SHOAL_OP_CHECK(op, "C1", from.dims() == to.dims(), "dimensions differ");
    return to;
  }
  // The one with narrow elements has one dimension more: the parts of a wide element.
  const Shape& wide = from_bits > to_bits ? from : to;
  const Shape& narrow = from_bits > to_bits ? to : from;
  SHOAL_OP_CHECK(op, "C1",
                 narrow.rank() == wide.rank() + 1 && narrow.dims().subspan(0, wide.rank()) == wide.dims() &&
                     narrow.dim(wide.rank()) * std::min(from_bits, to_bits) == std::max(from_bits, to_bits),
                 "dimensions do not fit the bits of the elements");
  return to;
}

absl::StatusOr<Shape> ConvertShape(const OpView& op) {
  SHOAL_RETURN_IF_ERROR(CheckWanted(op));
  SHOAL_OP_CHECK(op, "C1", op.shape(0).dims() == op.wanted->dims(), "dimensions differ");
  return *op.wanted;
}

absl::StatusOr<Shape> ReducePrecisionShape(const OpView& op) {
  const auto& bits = op.attributes_as<ReducePrecisionAttributes>();
  SHOAL_OP_CHECK(op, "C2", bits.exponent_bits >= 1, bits.exponent_bits, " exponent bits");
  SHOAL_OP_CHECK(op, "C3", bits.mantissa_bits >= 0, bits.mantissa_bits, " mantissa bits");
  return op.shape(0);
}

}  // namespace

template <>
absl::StatusOr<Shape> InferFamilyShape<OpFamily::kElementwise>(const OpView& op) {
  SHOAL_RETURN_IF_ERROR(CheckArrays(op));
  SHOAL_RETURN_IF_ERROR(CheckTypes(op));
  const Shape& first = op.shape(0);
  switch (op.opcode) {
    case Opcode::kClamp:
      return ClampShape(op);
    case Opcode::kSelect:
      return SelectShape(op);
    case Opcode::kBitcastConvert:
      return BitcastConvertShape(op);
    case Opcode::kConvert:
      return ConvertShape(op);
    case Opcode::kReducePrecision:
      return ReducePrecisionShape(op);
    default:
      break;
  }
  if (op.operand_count() == 2) {
    SHOAL_OP_CHECK(op, "C1", first.element_type() == op.shape(1).element_type(), "element types differ");
    SHOAL_OP_CHECK(op, op.opcode == Opcode::kCompare ? "C2" : "C1", first.dims() == op.shape(1).dims(),
                   "dimensions differ");
  }
  switch (op.opcode) {
    case Opcode::kAbs:
    case Opcode::kReal:
    case Opcode::kImag:
      return first.WithElementType(RealPart(first.element_type()));
    case Opcode::kCompare:
    case Opcode::kIsFinite:
      return first.WithElementType(ElementType::kPred);
    case Opcode::kComplex:
      SHOAL_OP_CHECK(op, "I1",
                     first.element_type() == ElementType::kF32 || first.element_type() == ElementType::kF64,
                     "is defined for f32 and f64");
      return first.WithElementType(ComplexOf(first.element_type()));
    default:
      return first;
  }
}

}  // namespace shoal

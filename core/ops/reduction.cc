#include "core/ops/reduction.h"

#include <cmath>
#include <complex>
#include <limits>

#include "core/ops/builder.h"

namespace shoal {
namespace {

// The least (sign -1) or greatest (sign 1) value that is no NaN. The narrow formats differ in whether they
// have infinities, so all their values are looked at.
Literal ExtremeFloat(ElementType type, int sign) {
  if (BitWidth(type) >= 16) return ScalarLiteral(type, sign * std::numeric_limits<double>::infinity());
  double extreme = std::numeric_limits<double>::quiet_NaN();
  for (uint64_t bits = 0; bits < uint64_t{1} << BitWidth(type); ++bits) {
    const double value = FloatFromBits(type, bits);
    if (std::isnan(extreme) || sign * value > sign * extreme) extreme = value;
  }
  return ScalarLiteral(type, extreme);
}

// Complex numbers are compared by their real parts, equal ones by their imaginary parts.
Literal ExtremeComplex(ElementType type, int sign) {
  const double infinity = sign * std::numeric_limits<double>::infinity();
  return type == ElementType::kC64 ? Literal::Scalar(type, std::complex<float>(static_cast<float>(infinity),
                                                                               static_cast<float>(infinity)))
                                   : Literal::Scalar(type, std::complex<double>(infinity, infinity));
}

Literal Least(ElementType type) {
  if (IsFloat(type)) return ExtremeFloat(type, -1);
  if (IsComplex(type)) return ExtremeComplex(type, -1);
  return IsSigned(type) ? IntLiteral(type, -(int64_t{1} << (BitWidth(type) - 2)) * 2)
                        : Literal(Shape::Scalar(type));
}

Literal Greatest(ElementType type) {
  if (IsFloat(type)) return ExtremeFloat(type, 1);
  if (IsComplex(type)) return ExtremeComplex(type, 1);
  const int bits = BitWidth(type) - (IsSigned(type) ? 1 : 0);
  return IntLiteral(type, bits == 64 ? -1 : static_cast<int64_t>((uint64_t{1} << bits) - 1));
}

}  // namespace

std::optional<Opcode> ReductionOpcode(const Computation& body) {
  const Instruction* root = body.root();
  if (!IsCommutative(root->opcode()) || root->operand_count() != 2 || body.parameters().size() != 2)
    return std::nullopt;
  const bool straight = root->operand(0) == body.parameter(0) && root->operand(1) == body.parameter(1);
  const bool crossed = root->operand(0) == body.parameter(1) && root->operand(1) == body.parameter(0);
  if (!straight && !crossed) return std::nullopt;
  return root->opcode();
}

std::optional<Literal> ReductionIdentity(Opcode opcode, ElementType type) {
  switch (opcode) {
    case Opcode::kAdd:
    case Opcode::kOr:
    case Opcode::kXor:
      return Literal(Shape::Scalar(type));
    case Opcode::kMultiply:
      return ScalarLiteral(type, 1);
    case Opcode::kAnd:
      return IsSigned(type) ? IntLiteral(type, -1) : Greatest(type);
    case Opcode::kMaximum:
      return Least(type);
    case Opcode::kMinimum:
      return Greatest(type);
    default:
      return std::nullopt;
  }
}

}  // namespace shoal

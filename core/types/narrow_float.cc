// Conversion of one number between double and the narrow float formats, driven by a row a format.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/types/literal.h"

namespace shoal {
namespace {

// IEEE has infinities and many NaNs; Fn has no infinity and one NaN magnitude (all ones); Fnuz has no
// infinity, no negative zero and one NaN (the sign bit alone); None has neither (f4e2m1fn saturates).
enum class Specials { kIeee, kFn, kFnuz, kNone };

struct Format {
  ElementType type;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  Specials specials;
};

constexpr Format kFormats[] = {
    {ElementType::kF4E2M1FN, 2, 1, 1, Specials::kNone},
    {ElementType::kF8E3M4, 3, 4, 3, Specials::kIeee},
    {ElementType::kF8E4M3, 4, 3, 7, Specials::kIeee},
    {ElementType::kF8E4M3FN, 4, 3, 7, Specials::kFn},
    {ElementType::kF8E4M3FNUZ, 4, 3, 8, Specials::kFnuz},
    {ElementType::kF8E4M3B11FNUZ, 4, 3, 11, Specials::kFnuz},
    {ElementType::kF8E5M2, 5, 2, 15, Specials::kIeee},
    {ElementType::kF8E5M2FNUZ, 5, 2, 16, Specials::kFnuz},
    {ElementType::kBF16, 8, 7, 127, Specials::kIeee},
    {ElementType::kF16, 5, 10, 15, Specials::kIeee},
};

const Format* FormatOf(ElementType type) {
  for (const Format& format : kFormats) {
    if (format.type == type) return &format;
  }
  return nullptr;
}

// f8e8m0fnu is an exponent alone: 2^(bits-127), 255 is NaN. As ml_dtypes and XLA round: halves up, and what
// lies between the two smallest to the second.
double ExponentOnlyFromBits(uint64_t bits) {
  return bits == 255 ? std::numeric_limits<double>::quiet_NaN()
                     : std::ldexp(1.0, static_cast<int>(bits) - 127);
}
uint64_t ExponentOnlyToBits(double value) {
  if (!(value > 0) || std::isinf(value)) return 255;
  if (value < 0x1p-126) return value > 0x1p-127 ? 1 : 0;
  int exponent;
  const double fraction = std::frexp(value, &exponent);  // in [1/2, 1)
  return static_cast<uint64_t>(std::min(exponent - (fraction < 0.75 ? 1 : 0) + 127, 255));
}

uint64_t NanBits(const Format& f, uint64_t sign) {
  const uint64_t magnitude = (uint64_t{1} << (f.exponent_bits + f.mantissa_bits)) - 1;
  switch (f.specials) {
    case Specials::kIeee:
      return sign | (magnitude & ~((uint64_t{1} << (f.mantissa_bits - 1)) - 1));
    case Specials::kFn:
      return sign | magnitude;
    case Specials::kFnuz:
      return magnitude + 1;
    case Specials::kNone:
      return magnitude + 1;  // ml_dtypes gives negative zero
  }
  return 0;
}

uint64_t OverflowBits(const Format& f, uint64_t sign) {
  const uint64_t magnitude = (uint64_t{1} << (f.exponent_bits + f.mantissa_bits)) - 1;
  if (f.specials == Specials::kIeee) return sign | (magnitude >> f.mantissa_bits << f.mantissa_bits);
  if (f.specials == Specials::kNone) return sign | magnitude;
  return NanBits(f, sign);
}

// The largest finite magnitude, as bits.
uint64_t MaxFiniteBits(const Format& f) {
  const uint64_t magnitude = (uint64_t{1} << (f.exponent_bits + f.mantissa_bits)) - 1;
  if (f.specials == Specials::kIeee) return (magnitude >> f.mantissa_bits << f.mantissa_bits) - 1;
  return f.specials == Specials::kFn ? magnitude - 1 : magnitude;
}

}  // namespace

double FloatFromBits(ElementType type, uint64_t bits) {
  if (type == ElementType::kF32) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  if (type == ElementType::kF64) return std::bit_cast<double>(bits);
  if (type == ElementType::kF8E8M0FNU) return ExponentOnlyFromBits(bits);
  const Format& f = *FormatOf(type);
  const uint64_t sign_bit = uint64_t{1} << (f.exponent_bits + f.mantissa_bits);
  const uint64_t magnitude = bits & (sign_bit - 1);
  const double sign = bits & sign_bit ? -1.0 : 1.0;
  if (f.specials == Specials::kFnuz && bits == sign_bit) return std::numeric_limits<double>::quiet_NaN();
  if (magnitude > MaxFiniteBits(f)) {
    const bool infinite = f.specials == Specials::kIeee && magnitude == OverflowBits(f, 0);
    return infinite ? sign * HUGE_VAL : std::copysign(std::numeric_limits<double>::quiet_NaN(), sign);
  }
  const int exponent = static_cast<int>(magnitude >> f.mantissa_bits);
  const uint64_t mantissa = magnitude & ((uint64_t{1} << f.mantissa_bits) - 1);
  const double fraction = static_cast<double>(mantissa + (exponent > 0 ? uint64_t{1} << f.mantissa_bits : 0));
  return sign * std::ldexp(fraction, (exponent > 0 ? exponent : 1) - f.bias - f.mantissa_bits);
}

uint64_t FloatToBits(ElementType type, double value) {
  if (type == ElementType::kF32) return std::bit_cast<uint32_t>(static_cast<float>(value));
  if (type == ElementType::kF64) return std::bit_cast<uint64_t>(value);
  if (type == ElementType::kF8E8M0FNU) return ExponentOnlyToBits(value);
  const Format& f = *FormatOf(type);
  const uint64_t sign = std::signbit(value) ? uint64_t{1} << (f.exponent_bits + f.mantissa_bits) : 0;
  if (std::isnan(value)) return NanBits(f, sign);
  const double magnitude = std::fabs(value);
  if (std::isinf(value)) return OverflowBits(f, sign);
  int exponent;
  std::frexp(magnitude, &exponent);  // magnitude = m * 2^exponent with m in [1/2, 1)
  const int biased = magnitude == 0 ? 0 : std::max(exponent - 1 + f.bias, 0);
  const int quantum = (biased > 0 ? biased : 1) - f.bias - f.mantissa_bits;  // weight of the last bit
  const uint64_t units = static_cast<uint64_t>(std::nearbyint(std::ldexp(magnitude, -quantum)));
  // Units of a normal number hold the implicit bit, so that a carry moves on to the next exponent by itself.
  const uint64_t bits = biased > 0 ? (static_cast<uint64_t>(biased - 1) << f.mantissa_bits) + units : units;
  if (bits > MaxFiniteBits(f)) return OverflowBits(f, sign);
  if (bits == 0 && f.specials == Specials::kFnuz) return 0;
  return sign | bits;
}

}  // namespace shoal

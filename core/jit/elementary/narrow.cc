// The floats of 8 and 4 bits, to and from f32: decode_<type>(bits) is exact, encode_<type>(x) rounds to
// nearest even.
#include "core/jit/elementary/elementary.h"

using namespace elementary;

namespace {

// What the formats do at the top of their range.
enum class Top {
  kIeee,      // infinities and NaNs as in f32
  kNaN,       // no infinity: all ones is NaN, and so is what overflows
  kUnsigned,  // no infinity, no -0: the bits of -0 are NaN, and so is what overflows
  kFinite,    // neither: what overflows is the biggest number, NaN becomes -0 as with ml_dtypes
};

template <int kExponent, int kMantissa, int kBias, Top kTop>
struct Narrow {
  static constexpr uint32_t kSign = 1u << (kExponent + kMantissa);
  static constexpr uint32_t kAllOnes = kSign - 1;
  static constexpr uint32_t kInfinity = ((1u << kExponent) - 1) << kMantissa;
  static constexpr uint32_t kBiggest = kTop == Top::kIeee  ? kInfinity - 1
                                       : kTop == Top::kNaN ? kAllOnes - 1
                                                           : kAllOnes;
  static constexpr uint32_t kNaNBits = kTop == Top::kIeee  ? kInfinity | (1u << (kMantissa - 1))
                                       : kTop == Top::kNaN ? kAllOnes
                                                           : kSign;

  static SHOAL_INLINE_MEMBER float Decode(uint32_t bits) {
    uint32_t magnitude = bits & kAllOnes;
    // Subnormal numbers count the smallest one; normal ones get f32's bias.
    constexpr float kSmallest = PowerOf(1 - kBias - kMantissa);
    float subnormal = static_cast<float>(static_cast<int32_t>(magnitude)) * kSmallest;
    float normal = FromBits((magnitude << (23 - kMantissa)) + (uint32_t{127 - kBias} << 23));
    float value = Select(magnitude < (1u << kMantissa), subnormal, normal);
    float negative = -value;
    value = Select((bits & kSign) != 0, negative, value);
    if constexpr (kTop == Top::kIeee) {
      float infinity =
          Select((bits & kSign) != 0, -elementary::kInfinity<float>, elementary::kInfinity<float>);
      value = Select(magnitude == kInfinity, infinity, value);
      value = Select(magnitude > kInfinity, kNaN<float>, value);
    }
    if constexpr (kTop == Top::kNaN) value = Select(magnitude == kAllOnes, kNaN<float>, value);
    if constexpr (kTop == Top::kUnsigned) value = Select(bits == kSign, kNaN<float>, value);
    return value;
  }

  static SHOAL_INLINE_MEMBER uint32_t Encode(float x) {
    float a = Abs(x);
    uint32_t bits = Bits(a);
    constexpr int kDropped = 23 - kMantissa;
    uint32_t rounded = bits + ((1u << (kDropped - 1)) - 1) + ((bits >> kDropped) & 1);
    uint32_t normal = (rounded >> kDropped) - (uint32_t{127 - kBias} << kMantissa);
    // Below the smallest normal number the bits count the smallest one.
    constexpr float kScale = PowerOf(kBias - 1 + kMantissa);
    uint32_t subnormal = Bits(a * kScale + 0x1p23f) - Bits(0x1p23f);
    constexpr float kSmallestNormal = PowerOf(1 - kBias);
    uint32_t magnitude = Select(a < kSmallestNormal, subnormal, normal);
    constexpr uint32_t kOverflow = kTop == Top::kIeee     ? kInfinity
                                   : kTop == Top::kFinite ? kBiggest
                                                          : kNaNBits;
    bool overflows = (a >= kSmallestNormal) & (magnitude > kBiggest);
    uint32_t sign = (Bits(x) >> 31) * kSign;
    uint32_t result = magnitude | sign;
    if constexpr (kTop == Top::kUnsigned) {
      result = Select(magnitude == 0, 0u, result);
      result = Select(overflows | (x != x), kSign, result);
    } else {
      result = Select(overflows, kOverflow | sign, result);
      result = Select(x != x, kTop == Top::kFinite ? kSign : kNaNBits | sign, result);
    }
    return result;
  }

 private:
  static constexpr float PowerOf(int n) {
    float power = 1;
    for (; n > 0; --n) power *= 2;
    for (; n < 0; ++n) power /= 2;
    return power;
  }
};

using F8E5M2 = Narrow<5, 2, 15, Top::kIeee>;
using F8E4M3 = Narrow<4, 3, 7, Top::kIeee>;
using F8E3M4 = Narrow<3, 4, 3, Top::kIeee>;
using F8E4M3FN = Narrow<4, 3, 7, Top::kNaN>;
using F8E4M3FNUZ = Narrow<4, 3, 8, Top::kUnsigned>;
using F8E5M2FNUZ = Narrow<5, 2, 16, Top::kUnsigned>;
using F8E4M3B11FNUZ = Narrow<4, 3, 11, Top::kUnsigned>;
using F4E2M1FN = Narrow<2, 1, 1, Top::kFinite>;

}  // namespace

#define SHOAL_NARROW(name, type)                                    \
  float decode_##name(uint32_t bits) { return type::Decode(bits); } \
  uint32_t encode_##name(float x) { return type::Encode(x); }

extern "C" {

SHOAL_NARROW(f8e5m2, F8E5M2)
SHOAL_NARROW(f8e4m3, F8E4M3)
SHOAL_NARROW(f8e3m4, F8E3M4)
SHOAL_NARROW(f8e4m3fn, F8E4M3FN)
SHOAL_NARROW(f8e4m3fnuz, F8E4M3FNUZ)
SHOAL_NARROW(f8e5m2fnuz, F8E5M2FNUZ)
SHOAL_NARROW(f8e4m3b11fnuz, F8E4M3B11FNUZ)
SHOAL_NARROW(f4e2m1fn, F4E2M1FN)

// A power of two from 2^-127 (bits 0) to 2^127; no sign; 255 is NaN, and what is not positive becomes it. As
// ml_dtypes and XLA round: halves up, and what lies between the two smallest to the second.
float decode_f8e8m0fnu(uint32_t bits) {
  float value = Select(bits == 0, 0x1p-127f, FromBits(bits << 23));
  return Select(bits == 255, kNaN<float>, value);
}
uint32_t encode_f8e8m0fnu(float x) {
  uint32_t bits = Bits(x);
  uint32_t rounded = (bits + Select(bits < 0x800000u, 0x3fffffu, 0x400000u)) >> 23;
  rounded = Select(rounded > 254u, 255u, rounded);
  return Select(!(x > 0.0f), 255u, rounded);
}
}

// log and log1p, for use by other functions of this folder.
#pragma once

#include "core/jit/elementary/exp.h"

namespace elementary {

// x = 2^exponent * m with m in [sqrt(1/2), sqrt(2)), for positive finite x, subnormal ones included.
template <typename T>
struct Split {
  T exponent, m;
};
template <typename T>
SHOAL_INLINE Split<T> SplitExponent(T x) {
  using F = Format<T>;
  using Int = typename F::Int;
  constexpr T kSmallestNormal = sizeof(T) == 4 ? T(0x1p-126) : T(0x1p-1022);
  constexpr int kLift = F::kMantissa + 1;
  bool subnormal = x < kSmallestNormal;
  T lifted = Select(subnormal, x * T(int64_t{1} << kLift), x);
  // The distance of the bits from those of sqrt(1/2) holds the exponent in its upper part.
  constexpr Int kRootBits = sizeof(T) == 4 ? Int(0x3f3504f3) : Int(0x3fe6a09e667f3bcd);
  constexpr Int kMask = (Int{1} << F::kMantissa) - 1;
  Int distance = static_cast<Int>(Bits(lifted)) - kRootBits;
  Int e = distance >> F::kMantissa;
  T m = FromBits(static_cast<typename F::Uint>((distance & kMask) + kRootBits));
  T exponent = static_cast<T>(static_cast<int32_t>(e));
  return {Select(subnormal, exponent - T(kLift), exponent), m};
}

// log(1 + f) for sqrt(1/2) <= 1 + f < sqrt(2), as a main part f and what is to be added to it.
SHOAL_INLINE float Log1pTail(float f) {
  constexpr float c[] = {0x1.555548p-2f,  -0x1.000006p-2f, 0x1.99a4b6p-3f,  -0x1.555c4ep-3f, 0x1.23376ap-3f,
                         -0x1.fc220ap-4f, 0x1.e6f052p-4f,  -0x1.de3bdep-4f, 0x1.14578p-4f};
  float f2 = f * f;
  return Fma(f2 * f, Horner(f, c), -0.5f * f2);
}
SHOAL_INLINE double Log1pTail(double f) {
  // With s = f/(2+f): log = 2s + s^3 P(s^2), and 2s = f - s f.
  constexpr double c[] = {0x1.5555555555592p-1, 0x1.999999997fd3bp-2, 0x1.24924941f8abfp-2,
                          0x1.c71c5202c7a84p-3, 0x1.746640596a400p-3, 0x1.39a1934b9e4d1p-3,
                          0x1.2f07063f8bd0ap-3};
  double s = f / (2.0 + f);
  double z = s * s;
  double half = 0.5 * f * f;
  return s * (half + z * Horner(z, c)) - half;
}

// The value where x is 0, negative, infinite or NaN.
template <typename T>
SHOAL_INLINE T LogEdges(T x, T value) {
  value = Select(x == kInfinity<T>, x, value);
  value = Select(x == T(0), -kInfinity<T>, value);
  return Select(x >= T(0), value, kNaN<T>);
}

template <typename T>
SHOAL_INLINE T Log(T x) {
  Split<T> s = SplitExponent(x);
  T f = s.m - T(1);
  T low = Fma(s.exponent, Ln2<T>::kLow, Log1pTail(f));
  return LogEdges(x, Fma(s.exponent, Ln2<T>::kHigh, low + f));
}

template <typename T>
SHOAL_INLINE T Log1p(T x) {
  T u = T(1) + x;
  Split<T> s = SplitExponent(u);
  bool near = s.exponent == T(0);
  // What rounding took from 1 + x, relative to u. Where the exponent is 0, x itself is the exact f.
  T lost = Select(x > T(1), T(1) - (u - x), x - (u - T(1)));
  T correction = Select(near, T(0), lost / u);
  T f = Select(near, x, s.m - T(1));
  T low = Fma(s.exponent, Ln2<T>::kLow, Log1pTail(f) + correction);
  T result = LogEdges(u, Fma(s.exponent, Ln2<T>::kHigh, low + f));
  return Select(x == T(0), x, result);
}

}  // namespace elementary

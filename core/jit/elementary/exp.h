// exp and its kin, for use by other functions of this folder.
#pragma once

#include "core/jit/elementary/elementary.h"

namespace elementary {

// ln2 in two parts; the first has so few bits that its product with an exponent is exact.
template <typename T>
struct Ln2;
template <>
struct Ln2<float> {
  static constexpr float kHigh = 0x1.62e4p-1f, kLow = 0x1.7f7d1cp-20f, kInverse = 0x1.715476p+0f;
};
template <>
struct Ln2<double> {
  static constexpr double kHigh = 0x1.62e42feep-1, kLow = 0x1.a39ef35793c76p-33,
                          kInverse = 0x1.71547652b82fep+0;
};

// x = n ln2 + r, |r| <= ln2/2.
template <typename T>
struct ExpArgument {
  typename Format<T>::Int n;
  T r;
};
template <typename T>
SHOAL_INLINE ExpArgument<T> ReduceExp(T x) {
  Rounded<T> n = Round(x * Ln2<T>::kInverse);
  T r = Fma(-n.value, Ln2<T>::kHigh, x);
  return {n.integer, Fma(-n.value, Ln2<T>::kLow, r)};
}

// expm1(r) = r + r^2 P(r) for |r| <= ln2/2.
SHOAL_INLINE float ExpM1Core(float r) {
  constexpr float c[] = {0x1.0p-1f,     0x1.555556p-3f, 0x1.5554b2p-5f,
                         0x1.11109p-7f, 0x1.6d72p-10f,  0x1.a1a01ap-13f};
  return Fma(r * r, Horner(r, c), r);
}
SHOAL_INLINE double ExpM1Core(double r) {
  constexpr double c[] = {0x1p-1,
                          0x1.5555555555559p-3,
                          0x1.555555555555ap-5,
                          0x1.111111110f75dp-7,
                          0x1.6c16c16c14564p-10,
                          0x1.a01a01afa6ce4p-13,
                          0x1.a01a01b071230p-16,
                          0x1.71ddf8e43cf6cp-19,
                          0x1.27e4c62078f61p-22,
                          0x1.af5dd3c8fabc0p-26,
                          0x1.1f94b698e6f17p-29};
  return Fma(r * r, Horner(r, c), r);
}

// v * 2^n for v in [0.5, 2] and any n for which the result is finite or just infinite: in two factors, so
// that neither leaves the normal range and a subnormal result is rounded once.
template <typename T>
SHOAL_INLINE T Scale(T v, typename Format<T>::Int n) {
  auto half = n >> 1;
  return v * PowerOfTwo<T>(half) * PowerOfTwo<T>(n - half);
}

// Arguments outside of [low, high] give 0 or infinity exactly as those at the ends do.
template <typename T>
struct ExpRange;
template <>
struct ExpRange<float> {
  static constexpr float kLow = -105.0f, kHigh = 89.0f;
};
template <>
struct ExpRange<double> {
  static constexpr double kLow = -746.0, kHigh = 710.0;
};

template <typename T>
SHOAL_INLINE T ClampExp(T x) {
  x = Select(x < ExpRange<T>::kLow, ExpRange<T>::kLow, x);  // NaN stays
  return Select(x > ExpRange<T>::kHigh, ExpRange<T>::kHigh, x);
}

template <typename T>
SHOAL_INLINE T Exp(T x) {
  ExpArgument<T> a = ReduceExp(ClampExp(x));
  return Scale(T(1) + ExpM1Core(a.r), a.n);
}

// exp(x) - 1 from x = n ln2 + r and p = expm1(r).
template <typename T>
SHOAL_INLINE T ExpM1From(ExpArgument<T> a, T p) {
  // 2^n p + (2^n - 1), halved for the sake of n = 128; below 2^-60 only the -1 is left.
  typename Format<T>::Int n = Select(a.n < -60, typename Format<T>::Int(-60), a.n);
  T scale = PowerOfTwo<T>(n - 1);
  T result = T(2) * Fma(scale, p, scale - T(0.5));
  return Select(a.n == 0, p, result);  // keeps subnormal numbers
}

template <typename T>
SHOAL_INLINE T ExpM1(T x) {
  ExpArgument<T> a = ReduceExp(ClampExp(x));
  return CopySign(ExpM1From(a, ExpM1Core(a.r)), x);  // the sum in the core makes 0 of -0
}

}  // namespace elementary

// The elementary functions of generated code: C++ that clang turns into LLVM bitcode when Shoal is built,
// copied into kernels instruction by instruction and widened to vectors there (core/codegen/elementary.h).
//
// Rules for every function that is exported here (core/codegen/elementary.cc refuses what it cannot widen,
// tests/core/codegen/ulp.py measures the rest):
//  - scalar arguments and result, named <function>_<f32|f64>, extern "C";
//  - one basic block after optimisation: no branch, no loop, no call but of LLVM intrinsics that exist for
//    vectors, no memory. Choose with Select, whose arms are both computed;
//  - no conversion of a float that may be out of range to an integer: take the bits of a sum with 1.5 * 2^52
//    instead;
//  - within 2 ulp everywhere, right for NaN, infinities, signed zeros and subnormals. Where a function is
//    good only for a range of arguments, <function>_slow_<type>(x) says for which x the C library's has to be
//    called instead.
// Polynomials are minimax fits by Remez' exchange on the interval given with them.
#pragma once

#include <cstdint>

namespace elementary {

#define SHOAL_INLINE static inline __attribute__((always_inline))
#define SHOAL_INLINE_MEMBER inline __attribute__((always_inline))

SHOAL_INLINE uint32_t Bits(float x) { return __builtin_bit_cast(uint32_t, x); }
SHOAL_INLINE uint64_t Bits(double x) { return __builtin_bit_cast(uint64_t, x); }
SHOAL_INLINE float FromBits(uint32_t x) { return __builtin_bit_cast(float, x); }
SHOAL_INLINE double FromBits(uint64_t x) { return __builtin_bit_cast(double, x); }
SHOAL_INLINE float Fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
SHOAL_INLINE double Fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
SHOAL_INLINE float Abs(float x) { return __builtin_fabsf(x); }
SHOAL_INLINE double Abs(double x) { return __builtin_fabs(x); }
SHOAL_INLINE float Sqrt(float x) { return __builtin_sqrtf(x); }
SHOAL_INLINE double Sqrt(double x) { return __builtin_sqrt(x); }
SHOAL_INLINE float CopySign(float x, float sign) { return __builtin_copysignf(x, sign); }
SHOAL_INLINE double CopySign(double x, double sign) { return __builtin_copysign(x, sign); }

template <typename T>
SHOAL_INLINE T Select(bool condition, T yes, T no) {
  return condition ? yes : no;
}

// c[0] + x * (c[1] + x * (...)).
template <typename T, int n>
SHOAL_INLINE T Horner(T x, const T (&c)[n]) {
  T sum = c[n - 1];
#pragma clang loop unroll(full)
  for (int i = n - 2; i >= 0; --i) sum = Fma(sum, x, c[i]);
  return sum;
}

template <typename T>
inline constexpr T kInfinity = __builtin_huge_val();
template <typename T>
inline constexpr T kNaN = __builtin_nan("");

// What the algorithms need to know of a float's layout.
template <typename T>
struct Format;
template <>
struct Format<float> {
  using Int = int32_t;
  using Uint = uint32_t;
  static constexpr int kMantissa = 23;
  static constexpr Int kBias = 127;
  static constexpr float kRound = 0x1.8p23f;  // adding and subtracting it rounds to an integer
};
template <>
struct Format<double> {
  using Int = int64_t;
  using Uint = uint64_t;
  static constexpr int kMantissa = 52;
  static constexpr Int kBias = 1023;
  static constexpr double kRound = 0x1.8p52;
};

// 2^n for an exponent in the normal range.
template <typename T>
SHOAL_INLINE T PowerOfTwo(typename Format<T>::Int n) {
  using F = Format<T>;
  return FromBits(static_cast<typename F::Uint>(n + F::kBias) << F::kMantissa);
}

// x rounded to an integer, as a float and as an integer. REQUIRES: |x| < 2^22 (2^51) or NaN, when the integer
// is anything.
template <typename T>
struct Rounded {
  T value;
  typename Format<T>::Int integer;
};
template <typename T>
SHOAL_INLINE Rounded<T> Round(T x) {
  using F = Format<T>;
  T shifted = x + F::kRound;
  auto integer = static_cast<typename F::Int>(Bits(shifted) - Bits(F::kRound));
  return {shifted - F::kRound, integer};
}

}  // namespace elementary

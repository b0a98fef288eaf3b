#include "core/jit/elementary/log.h"

using namespace elementary;

namespace {

// From here on tanh rounds to 1.
template <typename T>
constexpr T kTanhIsOne = sizeof(T) == 4 ? 10 : 22;

// With e = expm1(-2|x|) near 0, where no digits may cancel: -e / (2 + e). With t = exp(-2|x|) elsewhere: 1 -
// 2t / (1 + t), a small correction. One exponential and one division serve both, and since |x| is bounded its
// power of two is one factor.
template <typename T>
SHOAL_INLINE T Tanh(T x) {
  T a = Abs(x);
  a = Select(a > kTanhIsOne<T>, kTanhIsOne<T>, a);  // NaN stays
  ExpArgument<T> argument = ReduceExp(T(-2) * a);
  T p = ExpM1Core(argument.r), power = PowerOfTwo<T>(argument.n);
  T e = Fma(power, p, power - T(1));
  T t = Fma(power, p, power);
  bool near = a < T(0.55);
  T numerator = Select(near, -e, T(2) * t);
  T denominator = Select(near, T(2) + e, T(1) + t);
  T quotient = numerator / denominator;
  // What rounding took from e and from 2 + e, by derivatives that are right to a fifth: without it double
  // has 2.2 ulp.
  if constexpr (sizeof(T) == 8) {
    T low = Fma(power, p, (power - T(1)) - e), lost = e - (denominator - T(2));
    T change = Fma(low, Fma(T(0.62), e, T(-0.5)), T(-0.6) * lost * quotient);
    quotient = Select(near, quotient + change, quotient);
  }
  T result = CopySign(Select(near, quotient, T(1) - quotient), x);
  return Select(x == T(0), x, result);
}

// The single-precision ones of this file are computed in double: rarely used, and right to the last bit that
// way.
SHOAL_INLINE double Asinh(double x) {
  double a = Abs(x);
  double square = a * a;
  double result = CopySign(Log1p(a + square / (1.0 + Sqrt(square + 1.0))), x);
  return Select(a == kInfinity<double>, x, result);
}

}  // namespace

extern "C" {

float tanh_f32(float x) { return Tanh(x); }
double tanh_f64(double x) { return Tanh(x); }

float sinh_f32(float x) {
  double e = ExpM1(static_cast<double>(Abs(x)));
  float result = static_cast<float>(0.5 * (e + e / (e + 1.0)));
  return CopySign(Select(Abs(x) > 90.0f, Abs(x) * kInfinity<float>, result), x);
}
float cosh_f32(float x) {
  double e = Exp(static_cast<double>(Abs(x)));
  float result = static_cast<float>(0.5 * (e + 1.0 / e));
  return Select(Abs(x) > 90.0f, Abs(x) * kInfinity<float>, result);
}
float asinh_f32(float x) { return static_cast<float>(Asinh(x)); }
float acosh_f32(float x) {
  double y = static_cast<double>(x) - 1.0;
  float result = static_cast<float>(Log1p(y + Sqrt(y * (y + 2.0))));
  return Select(x < 1.0f, kNaN<float>, result);
}
float atanh_f32(float x) {
  double a = Abs(static_cast<double>(x));
  double result = CopySign(0.5 * Log1p(2.0 * a / (1.0 - a)), static_cast<double>(x));
  return static_cast<float>(result);
}
}

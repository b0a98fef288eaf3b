#include "core/jit/elementary/log.h"

using namespace elementary;

namespace {

// From here on tanh rounds to 1.
template <typename T>
constexpr T kTanhIsOne = sizeof(T) == 4 ? 10 : 22;

// x + x^3 P(x^2) near 0. With t = exp(-2|x|) elsewhere: 1 - 2t / (1 + t), a small correction; since |x| is
// bounded its power of two is one factor.
SHOAL_INLINE float Tanh(float x) {
  constexpr float near[] = {-0x1.555554p-2f, 0x1.110fe4p-3f, -0x1.b99e06p-5f, 0x1.5d06a0p-6f,
                            -0x1.b0677ep-8f};
  float a = Abs(x);
  a = Select(a > kTanhIsOne<float>, kTanhIsOne<float>, a);  // NaN stays
  ExpArgument<float> argument = ReduceExp(-2.0f * a);
  float power = PowerOfTwo<float>(argument.n);
  float t = Fma(power, ExpM1Core(argument.r), power);
  float square = a * a;
  float small = Fma(a * square, Horner(square, near), a);
  float large = 1.0f - 2.0f * t / (1.0f + t);
  return CopySign(Select(a < 0.55f, small, large), x);
}

// The same, but near 0, where no digits may cancel, by e = expm1(-2|x|): -e / (2 + e). One exponential and
// one division serve both.
SHOAL_INLINE double Tanh(double x) {
  double a = Abs(x);
  a = Select(a > kTanhIsOne<double>, kTanhIsOne<double>, a);  // NaN stays
  ExpArgument<double> argument = ReduceExp(-2.0 * a);
  double p = ExpM1Core(argument.r), power = PowerOfTwo<double>(argument.n);
  double e = Fma(power, p, power - 1.0);
  double t = Fma(power, p, power);
  bool near = a < 0.55;
  double numerator = Select(near, -e, 2.0 * t);
  double denominator = Select(near, 2.0 + e, 1.0 + t);
  double quotient = numerator / denominator;
  // What rounding took from e and from 2 + e, by derivatives that are right to a fifth: without it there
  // are 2.2 ulp.
  double low = Fma(power, p, (power - 1.0) - e), lost = e - (denominator - 2.0);
  double change = Fma(low, Fma(0.62, e, -0.5), -0.6 * lost * quotient);
  quotient = Select(near, quotient + change, quotient);
  double result = CopySign(Select(near, quotient, 1.0 - quotient), x);
  return Select(x == 0.0, x, result);
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

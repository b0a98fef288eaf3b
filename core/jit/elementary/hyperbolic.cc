#include "core/jit/elementary/log.h"

using namespace elementary;

namespace {

// -expm1(-2|x|) / (2 + expm1(-2|x|)): the exponential never overflows and no digits cancel near 0.
template <typename T>
SHOAL_INLINE T Tanh(T x) {
  T e = ExpM1(T(-2) * Abs(x));
  T result = CopySign(-e / (T(2) + e), x);
  return Select(x == T(0), x, result);
}

// The single-precision ones of this file are computed in double: rarely used, and right to the last bit that
// way.
SHOAL_INLINE double Asinh(double x) {
  double a = Abs(x);
  double square = a * a;
  return CopySign(Log1p(a + square / (1.0 + Sqrt(square + 1.0))), x);
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
  return static_cast<float>(Log1p(y + Sqrt(y * (y + 2.0))));
}
float atanh_f32(float x) {
  double a = Abs(static_cast<double>(x));
  double result = CopySign(0.5 * Log1p(2.0 * a / (1.0 - a)), static_cast<double>(x));
  return static_cast<float>(result);
}
}

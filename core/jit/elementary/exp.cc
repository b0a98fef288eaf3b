#include "core/jit/elementary/exp.h"

using namespace elementary;

namespace {

// 1 / (1 + exp(-x)), with the exponential of -|x| so that it never overflows. Of a negative x it is e / (1 +
// e), a small number, of which the rounding of the sum is taken off again: without it there are 2.1 ulp.
template <typename T>
SHOAL_INLINE T Logistic(T x) {
  T e = Exp(-Abs(x));
  T sum = T(1) + e;
  T lost = e - (sum - T(1));
  T quotient = Select(x < T(0), e, T(1)) / sum;
  return Fma(quotient * lost, quotient - T(1), quotient);
}

}  // namespace

extern "C" {

float exp_f32(float x) { return Exp(x); }
double exp_f64(double x) { return Exp(x); }
float expm1_f32(float x) { return ExpM1(x); }
double expm1_f64(double x) { return ExpM1(x); }

float logistic_f32(float x) { return Logistic(x); }
double logistic_f64(double x) { return Logistic(x); }
}

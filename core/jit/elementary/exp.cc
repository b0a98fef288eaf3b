#include "core/jit/elementary/exp.h"

using namespace elementary;

extern "C" {

float exp_f32(float x) { return Exp(x); }
double exp_f64(double x) { return Exp(x); }
float expm1_f32(float x) { return ExpM1(x); }
double expm1_f64(double x) { return ExpM1(x); }

// 1 / (1 + exp(-x)), with the exponential of -|x| so that it never overflows.
float logistic_f32(float x) {
  float e = Exp(-Abs(x));
  float numerator = Select(x < 0.0f, e, 1.0f);
  return numerator / (1.0f + e);
}
double logistic_f64(double x) {
  double e = Exp(-Abs(x));
  double numerator = Select(x < 0.0, e, 1.0);
  return numerator / (1.0 + e);
}
}

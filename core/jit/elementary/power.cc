#include "core/jit/elementary/log.h"

using namespace elementary;

namespace {

// 2^x in double to 2^-50, for |x| < 1000.
SHOAL_INLINE double Exp2Quick(double x) {
  constexpr double c[] = {0x1p+0,
                          0x1.62e42fefa39efp-1,
                          0x1.ebfbdff82c58fp-3,
                          0x1.c6b08d704a0d0p-5,
                          0x1.3b2ab6fba4e81p-7,
                          0x1.5d87fe78a2488p-10,
                          0x1.430912f868e29p-13,
                          0x1.ffcbfc7574498p-17,
                          0x1.62c0224d7ce06p-20};
  Rounded<double> n = Round(x);
  return Horner(x - n.value, c) * PowerOfTwo<double>(n.integer);
}

// log2 of a positive finite float, in double to 2^-43.
SHOAL_INLINE double Log2Quick(double x) {
  constexpr double c[] = {0x1.71547652b8250p+1, 0x1.ec709dc53e04ap-1, 0x1.2776c291791e3p-1,
                          0x1.a61a302318be3p-2, 0x1.479520b45e364p-2, 0x1.21b3d03aaac5ep-2};
  Split<double> s = SplitExponent(x);
  double t = (s.m - 1.0) / (s.m + 1.0);
  return Fma(t, Horner(t * t, c), s.exponent);
}

}  // namespace

extern "C" {

// C's pow: pow(x, 0) = pow(1, y) = 1 even for NaN; a negative base needs an integral exponent.
float pow_f32(float x, float y) {
  double base = Abs(static_cast<double>(x));
  double log = Select(base == 0.0, -kInfinity<double>, Log2Quick(base));
  log = Select(base == kInfinity<double>, kInfinity<double>, log);
  double product = log * static_cast<double>(y);
  product = Select(product > 300.0, 300.0, product);
  product = Select(product < -300.0, -300.0, product);
  float magnitude = static_cast<float>(Exp2Quick(product));
  bool whole = __builtin_floorf(y) == y;
  float half = 0.5f * y;
  bool odd = whole & (__builtin_floorf(half) != half);
  bool negative = CopySign(1.0f, x) < 0.0f;
  float result = Select(negative & odd, -magnitude, magnitude);
  bool finite = (base < kInfinity<double>)&(base > 0.0) & (Abs(y) < kInfinity<float>);
  result = Select(negative & finite & !whole, kNaN<float>, result);
  result = Select((x != x) | (y != y), x + y, result);
  bool minus_one = (x == -1.0f) & (Abs(y) == kInfinity<float>);
  return Select((x == 1.0f) | (y == 0.0f) | minus_one, 1.0f, result);
}

float cbrt_f32(float x) {
  double a = Abs(static_cast<double>(x));
  double root = Exp2Quick(Log2Quick(a) * 0x1.5555555555555p-2);
  bool kept = (a == 0.0) | !(a < kInfinity<double>);
  return Select(kept, x, CopySign(static_cast<float>(root), x));
}

double cbrt_f64(double x) {
  // A step of Newton's method from nearly single precision's double; a subnormal number is lifted first.
  double a = Abs(x);
  bool tiny = a < 0x1p-900;
  a = Select(tiny, a * 0x1p300, a);
  double root = Exp2Quick(Log2Quick(a) * 0x1.5555555555555p-2);
  double square = root * root;
  double error = Fma(square, root, -a);
  root = Fma(error / square, -0x1.5555555555555p-2, root);
  root = Select(tiny, root * 0x1p-100, root);
  bool kept = (a == 0.0) | !(a < kInfinity<double>);
  return Select(kept, x, CopySign(root, x));
}

float erf_f32(float x) {
  // x + x P(x^2) below 1; 1 - exp(Q(x - 1)) above, where Q is the logarithm of erfc, of which few digits are
  // needed.
  constexpr float near[] = {0x1.06eba8p-3f, -0x1.812746p-2f,  0x1.ce2f08p-4f,  -0x1.b829c8p-6f,
                            0x1.562a60p-8f, -0x1.bccf66p-11f, 0x1.d88750p-14f, -0x1.445f48p-17f};
  constexpr float far[] = {-0x1.d97fc0p+0f, -0x1.51c9b4p+1f, -0x1.afaaeap-1f, -0x1.54b582p-5f,
                           0x1.4b1db6p-7f,  -0x1.10db56p-9f, 0x1.60b9e8p-12f, -0x1.4294b8p-15f,
                           0x1.623bb4p-19f, -0x1.45ac78p-24f};
  float a = Abs(x);
  float small = Fma(a, Horner(a * a, near), a);
  float clipped = Select(a > 4.0f, 4.0f, a);  // erf is 1 in single precision from there on
  float large = 1.0f - Exp(Horner(clipped - 1.0f, far));
  return CopySign(Select(a < 1.0f, small, large), x);
}
}

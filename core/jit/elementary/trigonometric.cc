#include "core/jit/elementary/elementary.h"

using namespace elementary;

namespace {

// x = n pi/2 + (r + low), |r| <= pi/4.
template <typename T>
struct Quadrant {
  int64_t n;
  T r, low;
};

constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;

// In double, a float's product with pi/2 in two parts leaves no visible error below 2^40.
SHOAL_INLINE Quadrant<double> ReduceWide(float x) {
  double wide = x;
  Rounded<double> n = Round(wide * kTwoOverPi);
  double r = Fma(-n.value, 0x1.921fb54442d18p+0, wide);
  return {n.integer, Fma(-n.value, 0x1.1a62633145c07p-54, r), 0.0};
}

// Three parts of pi/2; the first has 33 bits, so that n times it is exact for n < 2^20 and the subtraction
// too.
SHOAL_INLINE Quadrant<double> Reduce(double x) {
  Rounded<double> n = Round(x * kTwoOverPi);
  double first = Fma(-n.value, 0x1.921fb544p+0, x);
  double product = n.value * 0x1.0b4611a626331p-34;
  double product_low = Fma(n.value, 0x1.0b4611a626331p-34, -product);
  double r = first - product;
  double back = first - r;  // two-sum: either term may be the bigger one
  double error = (first - (r + back)) + (back - product);
  double low = Fma(-n.value, 0x1.1701b839a2520p-88, error - product_low);
  return {n.integer, r, low};
}

SHOAL_INLINE double SinCore(double r, double low) {
  constexpr double c[] = {-0x1.5555555555549p-3, 0x1.111111110f87ap-7,   -0x1.a01a019c11990p-13,
                          0x1.71de3577b4e8ap-19, -0x1.ae5e6638965ebp-26, 0x1.5d93004970b69p-33};
  double z = r * r;
  return r + Fma(r * z, Horner(z, c), low);
}
SHOAL_INLINE double CosCore(double r, double low) {
  constexpr double c[] = {0x1.555555555554cp-5,   -0x1.6c16c16c1517ep-10, 0x1.a01a019cb1bf4p-16,
                          -0x1.27e4f809f172fp-22, 0x1.1ee9ebe983a11p-29,  -0x1.8fae9c87de470p-37};
  double z = r * r;
  double half = 0.5 * z;
  double top = 1.0 - half;
  // What rounding took from 1 - z/2 goes into the tail.
  double tail = (1.0 - top) - half;
  return top + (tail + Fma(z * z, Horner(z, c), -r * low));
}

// The same in single precision, of an r that was reduced in double.
SHOAL_INLINE float SinCore(float r) {
  constexpr float c[] = {-0x1.555556p-3f, 0x1.111108p-7f, -0x1.a00f9ep-13f, 0x1.6cd83ep-19f};
  float z = r * r;
  return Fma(r * z, Horner(z, c), r);
}
SHOAL_INLINE float CosCore(float r) {
  constexpr float c[] = {0x1.55554ap-5f, -0x1.6c0c8ap-10f, 0x1.9a0216p-16f};
  float z = r * r;
  return Fma(z * z, Horner(z, c), Fma(z, -0.5f, 1.0f));
}

template <typename T>
SHOAL_INLINE T Choose(int64_t n, T sin, T cos) {
  T value = Select((n & 1) != 0, cos, sin);
  return Select((n & 2) != 0, -value, value);
}

SHOAL_INLINE double AtanPositive(double a) {
  // atan(a) = pi/2 - atan(1/a), then atan(a) = pi/4 + atan((a-1)/(a+1)): arguments up to tan(pi/8).
  constexpr double c[] = {-0x1.5555554efd7e7p-2, 0x1.99999216ad534p-3,  -0x1.2490c6e7bfc03p-3,
                          0x1.c6d27144af324p-4,  -0x1.7087422a67e1ap-4, 0x1.1e6fb84e84173p-4,
                          -0x1.36ee4ee3f2407p-5};
  bool inverse = a > 1.0;
  double t = Select(inverse, 1.0 / a, a);
  bool shifted = t > 0x1.a827999fcef32p-2;
  double u = Select(shifted, (t - 1.0) / (t + 1.0), t);
  double z = u * u;
  double value = Fma(u * z, Horner(z, c), u);
  value = Select(shifted, value + 0x1.921fb54442d18p-1, value);
  return Select(inverse, 0x1.921fb54442d18p+0 - value, value);
}

}  // namespace

extern "C" {

bool sin_slow_f32(float x) { return Abs(x) > 0x1p40f; }
bool sin_slow_f64(double x) { return Abs(x) > 0x1p20; }
bool cos_slow_f32(float x) { return Abs(x) > 0x1p40f; }
bool cos_slow_f64(double x) { return Abs(x) > 0x1p20; }
bool tan_slow_f32(float x) { return Abs(x) > 0x1p40f; }

float sin_f32(float x) {
  Quadrant<double> q = ReduceWide(x);
  float r = static_cast<float>(q.r);
  float value = Choose(q.n, SinCore(r), CosCore(r));
  return Select(x == 0.0f, x, value);
}
float cos_f32(float x) {
  Quadrant<double> q = ReduceWide(x);
  float r = static_cast<float>(q.r);
  return Choose(q.n + 1, SinCore(r), CosCore(r));
}
float tan_f32(float x) {
  Quadrant<double> q = ReduceWide(x);
  double sin = SinCore(q.r, 0.0), cos = CosCore(q.r, 0.0);
  bool odd = (q.n & 1) != 0;
  double numerator = Select(odd, -cos, sin), denominator = Select(odd, sin, cos);
  return Select(x == 0.0f, x, static_cast<float>(numerator / denominator));
}
double sin_f64(double x) {
  Quadrant<double> q = Reduce(x);
  double value = Choose(q.n, SinCore(q.r, q.low), CosCore(q.r, q.low));
  return Select(x == 0.0, x, value);
}
double cos_f64(double x) {
  Quadrant<double> q = Reduce(x);
  return Choose(q.n + 1, SinCore(q.r, q.low), CosCore(q.r, q.low));
}

float atan2_f32(float y, float x) {
  double ay = Abs(static_cast<double>(y)), ax = Abs(static_cast<double>(x));
  // Both zero: 0 or pi by the sign of x. Both infinite: the diagonal.
  bool both_zero = (ax == 0.0) & (ay == 0.0);
  bool both_infinite = (ax == kInfinity<double>)&(ay == kInfinity<double>);
  double ratio = ay / ax;
  ratio = Select(both_zero, 0.0, ratio);
  ratio = Select(both_infinite, 1.0, ratio);
  double angle = AtanPositive(ratio);
  angle = Select(CopySign(1.0f, x) < 0.0f, 0x1.921fb54442d18p+1 - angle, angle);
  return CopySign(static_cast<float>(angle), y);
}
float asin_f32(float x) {
  double a = Abs(static_cast<double>(x));
  double angle = AtanPositive(a / Sqrt((1.0 - a) * (1.0 + a)));
  return Select(x == 0.0f, x, CopySign(static_cast<float>(angle), x));
}
float acos_f32(float x) {
  double wide = x;
  double angle = 2.0 * AtanPositive(Sqrt((1.0 - wide) / (1.0 + wide)));
  return static_cast<float>(angle);
}
}

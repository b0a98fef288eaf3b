#include "core/jit/elementary/log.h"

using namespace elementary;

extern "C" {

float log_f32(float x) { return Log(x); }
double log_f64(double x) { return Log(x); }
float log1p_f32(float x) { return Log1p(x); }
double log1p_f64(double x) { return Log1p(x); }
}

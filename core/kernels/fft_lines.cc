#include "core/kernels/fft_lines.h"

#include <cmath>

#include "core/kernels/simd.h"

namespace shoal {
namespace {

FftPassFunction BestFunction() {
#if SHOAL_HAS_AVX2_SOURCES
  if (CpuHasAvx2()) return RunFftPassAvx2;
#endif
  return RunFftPassBaseline;
}

}  // namespace

double FftUnitCostNs(const FftPass& pass) {
  if (pass.kind != kPassLines) return 3.0 * kFftPairUnit;
  const double n = static_cast<double>(pass.length);
  return kFftUnit * n * (1 + 0.2 * std::log2(n + 1)) * (pass.wide ? 2 : 1);
}

void TransformLine(int64_t length, const double* in, double* out) {
  FftPass pass;
  pass.wide = 1;
  pass.length = pass.stored = length;
  pass.to = 1;
  char* const buffers[] = {reinterpret_cast<char*>(const_cast<double*>(in)), reinterpret_cast<char*>(out)};
  RunFftPassBaseline(pass, buffers, 0, 1);
}

}  // namespace shoal

extern "C" void shoal_fft_pass(const int64_t* pass, char* const* buffers, int64_t begin, int64_t end) {
  static const shoal::FftPassFunction function = shoal::BestFunction();
  function(*reinterpret_cast<const shoal::FftPass*>(pass), buffers, begin, end);
}

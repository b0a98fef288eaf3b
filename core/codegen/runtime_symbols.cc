// The functions that generated code may call by name.
#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/codegen/module_builder.h"
#include "core/codegen/sort_row.h"
#include "core/kernels/fft_lines.h"
#include "core/kernels/linalg.h"

namespace shoal {
namespace {

// base^exponent modulo 2^64.
uint64_t PowerBySquaring(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1, base *= base) {
    if (exponent & 1) result *= base;
  }
  return result;
}

// A negative exponent gives the truncated reciprocal: 0 but for bases 1 and -1.
int64_t PowerSigned(int64_t base, int64_t exponent) {
  if (exponent >= 0)
    return static_cast<int64_t>(
        PowerBySquaring(static_cast<uint64_t>(base), static_cast<uint64_t>(exponent)));
  if (base == 1) return 1;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  return 0;
}

template <typename F>
const void* Address(F* function) {
  return reinterpret_cast<const void*>(function);
}

using F32 = float(float);
using F64 = double(double);
using F32x2 = float(float, float);
using F64x2 = double(double, double);

}  // namespace

#define SHOAL_LIBM(name) \
  {#name, Address<F64>(name)}, { #name "f", Address<F32>(name##f) }
#define SHOAL_LIBM2(name) \
  {#name, Address<F64x2>(name)}, { #name "f", Address<F32x2>(name##f) }

absl::Span<const RuntimeSymbol> RuntimeSymbols() {
  static const RuntimeSymbol symbols[] = {
      SHOAL_LIBM(acos),
      SHOAL_LIBM(acosh),
      SHOAL_LIBM(asin),
      SHOAL_LIBM(asinh),
      SHOAL_LIBM(atanh),
      SHOAL_LIBM(cbrt),
      SHOAL_LIBM(cos),
      SHOAL_LIBM(cosh),
      SHOAL_LIBM(erf),
      SHOAL_LIBM(exp),
      SHOAL_LIBM(expm1),
      SHOAL_LIBM(log),
      SHOAL_LIBM(log1p),
      SHOAL_LIBM(sin),
      SHOAL_LIBM(sinh),
      SHOAL_LIBM(tan),
      SHOAL_LIBM(tanh),
      SHOAL_LIBM(round),
      SHOAL_LIBM(roundeven),
      SHOAL_LIBM(floor),
      SHOAL_LIBM(ceil),
      SHOAL_LIBM2(atan2),
      SHOAL_LIBM2(fmod),
      SHOAL_LIBM2(pow),
      {"memcpy", reinterpret_cast<const void*>(&std::memcpy)},
      {"memset", reinterpret_cast<const void*>(&std::memset)},
      {"memmove", reinterpret_cast<const void*>(&std::memmove)},
      {"shoal_cholesky", reinterpret_cast<const void*>(&shoal_cholesky)},
      {"shoal_fft_pass", reinterpret_cast<const void*>(&shoal_fft_pass)},
      {"shoal_sort_row", reinterpret_cast<const void*>(&shoal_sort_row)},
      {"shoal_triangular_solve", reinterpret_cast<const void*>(&shoal_triangular_solve)},
      {"shoal_power_s64", reinterpret_cast<const void*>(&PowerSigned)},
      {"shoal_power_u64", reinterpret_cast<const void*>(&PowerBySquaring)},
  };
  return symbols;
}

}  // namespace shoal

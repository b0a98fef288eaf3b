#include "core/kernels/multiply_subtract.h"

#include "core/kernels/simd.h"

namespace shoal {

template <class T>
void MultiplySubtract(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb, T* c,
                      int64_t ldc, bool add) {
  const Product<T> product{m, n, k, a, lda, b, ldb, c, ldc, add ? T(1) : T(-1)};
#if SHOAL_HAS_AVX2_SOURCES
  static const bool has_avx2 = CpuHasAvx2();
  if (has_avx2) return MultiplySubtractAvx2(product);
#endif
  MultiplySubtractBaseline(product);
}

template void MultiplySubtract(int64_t, int64_t, int64_t, const float*, int64_t, const float*, int64_t,
                               float*, int64_t, bool);
template void MultiplySubtract(int64_t, int64_t, int64_t, const double*, int64_t, const double*, int64_t,
                               double*, int64_t, bool);

}  // namespace shoal

// MultiplySubtract: c -= a b, the inner loop of the blocked factorisations here. Row-major; rows of each
// matrix are lda, ldb, ldc numbers apart. For contractions short enough that `b`'s rows stay in the cache.
#pragma once

#include <cstdint>

namespace shoal {

// a is m x k, b is k x n, c is m x n. With `add` instead of subtracting.
template <class T>
void MultiplySubtract(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb, T* c,
                      int64_t ldc, bool add = false);

// MultiplySubtract for each kind of CPU.
template <class T>
struct Product {
  int64_t m, n, k;
  const T* a;
  int64_t lda;
  const T* b;
  int64_t ldb;
  T* c;
  int64_t ldc;
  T sign;
};
void MultiplySubtractBaseline(const Product<float>& p);
void MultiplySubtractBaseline(const Product<double>& p);
void MultiplySubtractAvx2(const Product<float>& p);
void MultiplySubtractAvx2(const Product<double>& p);

}  // namespace shoal

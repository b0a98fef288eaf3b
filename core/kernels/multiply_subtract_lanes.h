// The loops of MultiplySubtract, in tiles whose sums stay in registers. Included by
// multiply_subtract_baseline.cc and multiply_subtract_avx2.cc alone (simd.h says why nothing here may be
// shared).
#pragma once

#include <cstdint>

#include "core/kernels/multiply_subtract.h"
#include "core/kernels/simd.h"

namespace {

using shoal::Product;

// R rows and N vectors of W columns of c, from row i and column j.
template <class T, int W, int R, int N>
void Tile(const Product<T>& p, int64_t i, int64_t j) {
  using V = typename VectorOf<T, W>::type;
  using U = typename VectorOf<T, W>::unaligned;
  V sums[R][N] = {};
  for (int64_t k = 0; k < p.k; ++k) {
    const T* b = p.b + k * p.ldb + j;
    V columns[N];
    for (int v = 0; v < N; ++v) columns[v] = *reinterpret_cast<const U*>(b + v * W);
    for (int r = 0; r < R; ++r) {
      const T a = p.a[(i + r) * p.lda + k];
      for (int v = 0; v < N; ++v) sums[r][v] += a * columns[v];
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < N; ++v) {
      U* c = reinterpret_cast<U*>(p.c + (i + r) * p.ldc + j + v * W);
      *c = *c + p.sign * sums[r][v];
    }
  }
}

template <class T, int W, int R>
void Rows(const Product<T>& p, int64_t i) {
  int64_t j = 0;
  for (; j + 3 * W <= p.n; j += 3 * W) Tile<T, W, R, 3>(p, i, j);
  for (; j + W <= p.n; j += W) Tile<T, W, R, 1>(p, i, j);
  for (; j < p.n; ++j) Tile<T, 1, R, 1>(p, i, j);
}

template <class T, int W>
void Run(const Product<T>& p) {
  int64_t i = 0;
  for (; i + 4 <= p.m; i += 4) Rows<T, W, 4>(p, i);
  for (; i < p.m; ++i) Rows<T, W, 1>(p, i);
}

}  // namespace

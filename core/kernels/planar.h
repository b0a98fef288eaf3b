// Planar: a matrix of real or complex numbers with real and imaginary parts apart, in memory of its own, so
// that one real product serves both.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "core/kernels/multiply_subtract.h"

namespace shoal {

template <class T, bool IsComplex>
class Planar {
 public:
  // Uninitialised.
  Planar(int64_t rows, int64_t columns)
      : rows_(rows), columns_(columns), numbers_(new T[std::max<int64_t>(1, rows * columns * kParts)]) {}

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  T* Re(int64_t i, int64_t j) { return numbers_.get() + i * columns_ + j; }
  T* Im(int64_t i, int64_t j) { return Re(i, j) + rows_ * columns_; }
  const T* Re(int64_t i, int64_t j) const { return numbers_.get() + i * columns_ + j; }
  const T* Im(int64_t i, int64_t j) const { return Re(i, j) + rows_ * columns_; }

  // Number `at` of an array whose complex numbers are pairs.
  void Read(int64_t i, int64_t j, const T* array, int64_t at, bool conjugate) {
    *Re(i, j) = array[at * kParts];
    if constexpr (IsComplex) *Im(i, j) = conjugate ? -array[2 * at + 1] : array[2 * at + 1];
  }
  void Write(int64_t i, int64_t j, T* array, int64_t at, bool conjugate) const {
    array[at * kParts] = *Re(i, j);
    if constexpr (IsComplex) array[2 * at + 1] = conjugate ? -*Im(i, j) : *Im(i, j);
  }

  // Where a block of the matrix begins.
  struct At {
    int64_t row = 0, column = 0;
  };
  // The m x n block of this matrix at `c` -= the m x k block of `a` at `a_at` times the k x n block of `b` at
  // `b_at`, of whose numbers the conjugates are taken if `conjugate_b`.
  void SubtractProduct(At c, int64_t m, int64_t n, int64_t k, const Planar& a, At a_at, const Planar& b,
                       At b_at, bool conjugate_b = false) {
    auto product = [&](const T* x, const T* y, T* z, bool add) {
      MultiplySubtract(m, n, k, x, a.columns_, y, b.columns_, z, columns_, add);
    };
    const T *a_re = a.Re(a_at.row, a_at.column), *b_re = b.Re(b_at.row, b_at.column);
    product(a_re, b_re, Re(c.row, c.column), false);
    if constexpr (IsComplex) {
      const T *a_im = a.Im(a_at.row, a_at.column), *b_im = b.Im(b_at.row, b_at.column);
      product(a_im, b_im, Re(c.row, c.column), !conjugate_b);
      product(a_re, b_im, Im(c.row, c.column), conjugate_b);
      product(a_im, b_re, Im(c.row, c.column), false);
    }
  }

 private:
  static constexpr int64_t kParts = IsComplex ? 2 : 1;
  const int64_t rows_, columns_;
  const std::unique_ptr<T[]> numbers_;
};

}  // namespace shoal

// shoal_cholesky: right-looking, in blocks of columns. Everything is done on a lower triangle; an upper one
// is the conjugate transpose of it.
#include <cmath>
#include <limits>

#include "core/kernels/linalg.h"
#include "core/kernels/planar.h"
#include "core/tasks/arena.h"

namespace shoal {
namespace {

constexpr int64_t kBlock = 48;          // columns that are factored before the rest is updated
constexpr int64_t kRowBlock = 64;       // rows of the rest that are updated at once
constexpr int64_t kParallelRows = 256;  // a smaller rest is not worth other workers

template <class T, bool IsComplex>
class Cholesky {
  using Matrix = Planar<T, IsComplex>;

 public:
  Cholesky(const CholeskyCall& call) : n_(call.size), lower_(call.lower), a_(n_, n_) {}

  void Run(const T* operand, T* result) {
    const bool flip = !lower_;
    for (int64_t i = 0; i < n_; ++i) {
      for (int64_t j = 0; j <= i; ++j) a_.Read(i, j, operand, flip ? j * n_ + i : i * n_ + j, flip);
    }
    const bool fine = Factor();
    constexpr int64_t kParts = IsComplex ? 2 : 1;
    if (!fine) {
      std::fill_n(result, n_ * n_ * kParts, std::numeric_limits<T>::quiet_NaN());
      return;
    }
    std::fill_n(result, n_ * n_ * kParts, T(0));
    for (int64_t i = 0; i < n_; ++i) {
      for (int64_t j = 0; j <= i; ++j) a_.Write(i, j, result, flip ? j * n_ + i : i * n_ + j, flip);
    }
  }

 private:
  bool Factor() {
    for (int64_t at = 0; at < n_; at += kBlock) {
      const int64_t width = std::min(kBlock, n_ - at);
      if (!FactorDiagonal(at, width)) return false;
      if (at + width < n_) UpdateRest(at, width);
    }
    return true;
  }

  // The block of `width` columns at the diagonal, number by number.
  bool FactorDiagonal(int64_t at, int64_t width) {
    for (int64_t j = at; j < at + width; ++j) {
      T pivot = *a_.Re(j, j);
      for (int64_t k = at; k < j; ++k) {
        pivot -= *a_.Re(j, k) * *a_.Re(j, k);
        if constexpr (IsComplex) pivot -= *a_.Im(j, k) * *a_.Im(j, k);
      }
      if (!(pivot > 0)) return false;
      const T root = std::sqrt(pivot);
      *a_.Re(j, j) = root;
      if constexpr (IsComplex) *a_.Im(j, j) = 0;
      for (int64_t i = j + 1; i < at + width; ++i) {
        T re = *a_.Re(i, j), im = 0;
        if constexpr (IsComplex) im = *a_.Im(i, j);
        for (int64_t k = at; k < j; ++k) {
          re -= *a_.Re(i, k) * *a_.Re(j, k);
          if constexpr (IsComplex) {
            re -= *a_.Im(i, k) * *a_.Im(j, k);
            im -= *a_.Im(i, k) * *a_.Re(j, k) - *a_.Re(i, k) * *a_.Im(j, k);
          }
        }
        *a_.Re(i, j) = re / root;
        if constexpr (IsComplex) *a_.Im(i, j) = im / root;
      }
    }
    return true;
  }

  // The rows below: X = A21 L11^-H, found as its transpose, whose rows are long; then A22 -= X X^H.
  void UpdateRest(int64_t at, int64_t width) {
    const int64_t first = at + width, rest = n_ - first;
    Matrix x(width, rest), diagonal(width, width);
    for (int64_t j = 0; j < width; ++j) {
      for (int64_t i = 0; i < rest; ++i) {
        *x.Re(j, i) = *a_.Re(first + i, at + j);
        if constexpr (IsComplex) *x.Im(j, i) = *a_.Im(first + i, at + j);
      }
      for (int64_t k = 0; k < j; ++k) {
        *diagonal.Re(j, k) = *a_.Re(at + j, at + k);
        if constexpr (IsComplex) *diagonal.Im(j, k) = -*a_.Im(at + j, at + k);
      }
      x.SubtractProduct({j, 0}, 1, rest, j, diagonal, {j, 0}, x, {0, 0});
      const T factor = T(1) / *a_.Re(at + j, at + j);
      for (int64_t i = 0; i < rest; ++i) {
        *a_.Re(first + i, at + j) = *x.Re(j, i) *= factor;
        if constexpr (IsComplex) *a_.Im(first + i, at + j) = *x.Im(j, i) *= factor;
      }
    }
    auto update = [&](int64_t begin, int64_t end) {
      for (int64_t row = begin * kRowBlock; row < std::min(end * kRowBlock, rest); row += kRowBlock) {
        const int64_t rows = std::min(kRowBlock, rest - row);
        a_.SubtractProduct({first + row, first}, rows, row + rows, width, a_, {first + row, at}, x, {0, 0},
                           /*conjugate_b=*/true);
      }
    };
    const int64_t blocks = (rest + kRowBlock - 1) / kRowBlock;
    Arena::Get().ParallelFor(blocks, rest < kParallelRows ? blocks : 1, update);
  }

  const int64_t n_;
  const bool lower_;
  Matrix a_;
};

template <class T, bool IsComplex>
void RunAll(const CholeskyCall& call, char* const* buffers, int64_t begin, int64_t end) {
  Cholesky<T, IsComplex> cholesky(call);
  const int64_t numbers = call.size * call.size * (IsComplex ? 2 : 1);
  for (int64_t unit = begin; unit < end; ++unit) {
    cholesky.Run(reinterpret_cast<const T*>(buffers[0]) + unit * numbers,
                 reinterpret_cast<T*>(buffers[1]) + unit * numbers);
  }
}

}  // namespace
}  // namespace shoal

extern "C" void shoal_cholesky(const int64_t* words, char* const* buffers, int64_t begin, int64_t end) {
  const auto& call = *reinterpret_cast<const shoal::CholeskyCall*>(words);
  shoal::WithMatrixType(
      call.type, [&]<class T, bool IsComplex>() { shoal::RunAll<T, IsComplex>(call, buffers, begin, end); });
}

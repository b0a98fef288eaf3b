// shoal_triangular_solve: every case is brought into the form l y = b with a lower triangle l while it is
// copied: x op(a) = b is op(a)^T x^T = b^T, and an upper triangle is a lower one with rows and columns in
// reverse.
#include "core/kernels/linalg.h"
#include "core/kernels/planar.h"

namespace shoal {
namespace {

constexpr int64_t kBlock = 32;  // unknowns that are found before the rest is updated

template <class T, bool IsComplex>
class TriangularSolve {
  using Matrix = Planar<T, IsComplex>;
  static constexpr int64_t kParts = IsComplex ? 2 : 1;

 public:
  explicit TriangularSolve(const TriangularSolveCall& call) : c_(call), n_(call.size), l_(n_, n_) {
    // Of the operand that is read, and of what is solved.
    transposed_ = (call.left_side != 0) == (call.transpose != 0);
    reversed_ = (call.lower != 0) == transposed_;
  }

  void Run(int64_t unit, const T* a, const T* b, T* x) {
    const int64_t matrix = unit / c_.units_per_matrix(), part = unit % c_.units_per_matrix();
    const int64_t first = part * c_.vectors_per_unit;
    const int64_t count = std::min(c_.vectors_per_unit, c_.vectors - first);
    if (matrix != matrix_) ReadTriangle(a + matrix * n_ * n_ * kParts);
    matrix_ = matrix;
    Matrix y(n_, count);
    const int64_t begin = matrix * n_ * c_.vectors;
    for (int64_t i = 0; i < n_; ++i) {
      for (int64_t v = 0; v < count; ++v) y.Read(i, v, b, begin + PlaceOf(i, first + v), false);
    }
    Solve(y);
    for (int64_t i = 0; i < n_; ++i) {
      for (int64_t v = 0; v < count; ++v) y.Write(i, v, x, begin + PlaceOf(i, first + v), false);
    }
  }

 private:
  int64_t Row(int64_t i) const { return reversed_ ? n_ - 1 - i : i; }
  // Of unknown `i` of vector `v` in b and x.
  int64_t PlaceOf(int64_t i, int64_t v) const {
    return c_.left_side ? Row(i) * c_.vectors + v : v * n_ + Row(i);
  }

  void ReadTriangle(const T* a) {
    for (int64_t i = 0; i < n_; ++i) {
      for (int64_t j = 0; j <= i; ++j) {
        const int64_t row = Row(i), column = Row(j);
        l_.Read(i, j, a, transposed_ ? column * n_ + row : row * n_ + column, c_.conjugate);
      }
    }
  }

  void Solve(Matrix& y) const {
    const int64_t count = y.columns();
    for (int64_t at = 0; at < n_; at += kBlock) {
      const int64_t width = std::min(kBlock, n_ - at), first = at + width;
      for (int64_t i = at; i < first; ++i) {
        y.SubtractProduct({i, 0}, 1, count, i - at, l_, {i, at}, y, {at, 0});
        if (!c_.unit_diagonal) DivideRow(i, y);
      }
      y.SubtractProduct({first, 0}, n_ - first, count, width, l_, {first, at}, y, {at, 0});
    }
  }

  void DivideRow(int64_t i, Matrix& y) const {
    const T re = *l_.Re(i, i);
    T* row = y.Re(i, 0);
    if constexpr (!IsComplex) {
      for (int64_t v = 0; v < y.columns(); ++v) row[v] /= re;
    } else {
      // Of p / q both parts are divided by the larger part of q first (Smith): no square that overflows.
      const T im = *l_.Im(i, i);
      const bool wide = (re < 0 ? -re : re) >= (im < 0 ? -im : im);
      const T ratio = wide ? im / re : re / im, bottom = wide ? re + im * ratio : re * ratio + im;
      T* other = y.Im(i, 0);
      for (int64_t v = 0; v < y.columns(); ++v) {
        const T p = row[v], q = other[v];
        row[v] = (wide ? p + q * ratio : p * ratio + q) / bottom;
        other[v] = (wide ? q - p * ratio : q * ratio - p) / bottom;
      }
    }
  }

  const TriangularSolveCall& c_;
  const int64_t n_;
  Matrix l_;
  bool transposed_, reversed_;
  int64_t matrix_ = -1;  // whose triangle l_ holds
};

template <class T, bool IsComplex>
void RunAll(const TriangularSolveCall& call, char* const* buffers, int64_t begin, int64_t end) {
  TriangularSolve<T, IsComplex> solve(call);
  for (int64_t unit = begin; unit < end; ++unit) {
    solve.Run(unit, reinterpret_cast<const T*>(buffers[0]), reinterpret_cast<const T*>(buffers[1]),
              reinterpret_cast<T*>(buffers[2]));
  }
}

}  // namespace
}  // namespace shoal

extern "C" void shoal_triangular_solve(const int64_t* words, char* const* buffers, int64_t begin,
                                       int64_t end) {
  const auto& call = *reinterpret_cast<const shoal::TriangularSolveCall*>(words);
  shoal::WithMatrixType(
      call.type, [&]<class T, bool IsComplex>() { shoal::RunAll<T, IsComplex>(call, buffers, begin, end); });
}

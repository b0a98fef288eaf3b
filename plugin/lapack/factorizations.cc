// Factorisations and solutions: cholesky, LU, QR, triangular and tridiagonal systems.
#include <algorithm>

#include "plugin/lapack/arguments.h"

namespace shoal {
namespace {

template <typename T>
void Potrf(const LapackArguments& a) {
  const int32_t n = a.Size(0, 0);
  a.routine(a.Letter("uplo"), n, a.Changed<T>(0, 0), std::max(1, n), a.Out<int32_t>(1));
}

template <typename T>
void Getrf(const LapackArguments& a) {
  const int32_t m = a.Size(0, 0), n = a.Size(0, 1);
  a.routine(m, n, a.Changed<T>(0, 0), std::max(1, m), a.Out<int32_t>(1), a.Out<int32_t>(2));
}

template <typename T>
void Geqrf(const LapackArguments& a) {
  const int32_t m = a.Size(0, 0), n = a.Size(0, 1);
  T* matrix = a.Changed<T>(0, 0);
  int32_t info = 0;
  WithWorkspace<T>([&](T* work, int32_t size) {
    a.routine(m, n, matrix, std::max(1, m), a.Out<T>(1), work, size, &info);
  });
}

template <typename T>
void Geqp3(const LapackArguments& a) {
  const int32_t m = a.Size(0, 0), n = a.Size(0, 1);
  T* matrix = a.Changed<T>(0, 0);
  auto* pivots = a.Changed<int32_t>(1, 1);
  int32_t info = 0;
  WithWorkspace<T>([&](T* work, int32_t size) {
    if constexpr (kIsComplex<T>) {
      std::vector<typename RealOf<T>::type> real_work(static_cast<size_t>(2 * n));
      a.routine(m, n, matrix, std::max(1, m), pivots, a.Out<T>(2), work, size, real_work.data(), &info);
    } else {
      a.routine(m, n, matrix, std::max(1, m), pivots, a.Out<T>(2), work, size, &info);
    }
  });
}

template <typename T>
void Orgqr(const LapackArguments& a) {
  const int32_t m = a.Size(0, 0), n = a.Size(0, 1), k = a.Size(1, 0);
  T* matrix = a.Changed<T>(0, 0);
  int32_t info = 0;
  WithWorkspace<T>([&](T* work, int32_t size) {
    a.routine(m, n, k, matrix, std::max(1, m), a.In<T>(1), work, size, &info);
  });
}

template <typename T>
void Ormqr(const LapackArguments& a) {
  const int32_t m = a.Size(2, 0), n = a.Size(2, 1), k = a.Size(1, 0);
  const char side = a.Int("left") != 0 ? 'L' : 'R';
  const char transpose = a.Int("transpose") == 0 ? 'N' : kIsComplex<T> ? 'C' : 'T';
  T* matrix = a.Changed<T>(2, 0);
  // LAPACK changes the reflectors while it works, and puts them back.
  std::vector<T> reflectors = a.Copy<T>(0);
  int32_t info = 0;
  WithWorkspace<T>([&](T* work, int32_t size) {
    a.routine(side, transpose, m, n, k, reflectors.data(), std::max(1, a.Size(0, 0)), a.In<T>(1), matrix,
              std::max(1, m), work, size, &info);
  });
}

template <typename T>
void Trsm(const LapackArguments& a) {
  const int32_t m = a.Size(1, 0), n = a.Size(1, 1);
  const char side = a.Letter("side");
  a.routine(side, a.Letter("uplo"), a.Letter("trans_x"), a.Letter("diag"), m, n, T(1), a.In<T>(0),
            std::max(1, side == 'L' ? m : n), a.Changed<T>(1, 0), std::max(1, m));
}

// The lower diagonal's first number stands for nothing.
template <typename T>
void Gtsv(const LapackArguments& a) {
  const int32_t n = a.Size(3, 0), columns = a.Size(3, 1);
  T *lower = a.Changed<T>(0, 0), *diagonal = a.Changed<T>(1, 1), *upper = a.Changed<T>(2, 2);
  a.routine(n, columns, lower + 1, diagonal, upper, a.Changed<T>(3, 3), std::max(1, n), a.Out<int32_t>(4));
}

}  // namespace

absl::Span<const LapackRow> LapackFactorizations() {
  static const auto* const rows = new std::vector<LapackRow>{
      {"potrf", "potrf", SHOAL_LAPACK_TYPES(Potrf), {"uplo"}, 1, 2, 2},
      {"getrf", "getrf", SHOAL_LAPACK_TYPES(Getrf), {}, 1, 3, 3},
      {"geqrf", "geqrf", SHOAL_LAPACK_TYPES(Geqrf), {}, 1, 2, 2},
      {"geqp3", "geqp3", SHOAL_LAPACK_TYPES(Geqp3), {}, 2, 3, 3},
      {"orgqr", "ungqr", SHOAL_LAPACK_TYPES(Orgqr), {}, 2, 1, 1},
      {"ormqr", "unmqr", SHOAL_LAPACK_TYPES(Ormqr), {"left", "transpose"}, 3, 1, 1},
      {"trsm", "trsm", SHOAL_LAPACK_TYPES(Trsm), {"side", "uplo", "trans_x", "diag"}, 2, 1, 1},
      {"gtsv", "gtsv", SHOAL_LAPACK_TYPES(Gtsv), {}, 4, 5, 5},
  };
  return *rows;
}

}  // namespace shoal

// Eigenvalues and singular values, and the forms on the way to them.
#include <algorithm>
#include <cmath>

#include "plugin/lapack/arguments.h"

namespace shoal {
namespace {

// What LAPACK tells of a fourth argument with NaN in it; its own iterations may not end on one.
constexpr int32_t kNotFinite = -4;

template <typename T>
bool AllFinite(const std::vector<T>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(),
                     [](T x) { return std::isfinite(std::real(x)) && std::isfinite(std::imag(x)); });
}

// The singular values, U and V transposed, by the divide-and-conquer method or by QR.
template <typename T>
void Gesdd(const LapackArguments& a) {
  const int32_t m = a.Size(0, 0), n = a.Size(0, 1);
  const int64_t most = std::max(m, n), least = std::min(m, n);
  const char mode = a.Letter("mode");
  T* matrix = a.Changed<T>(0, 0);
  using Real = typename RealOf<T>::type;
  std::vector<int32_t> int_work(static_cast<size_t>(8 * least));
  std::vector<Real> real_work;
  if (kIsComplex<T>) {
    const int64_t vectors =
        std::max(5 * least * least + 5 * least, 2 * most * least + 2 * least * least + least);
    real_work.resize(static_cast<size_t>(mode == 'N' ? 7 * least : vectors));
  }
  WithWorkspace<T>([&](T* work, int32_t size) {
    const int32_t ldu = std::max(1, m), ldvt = std::max(1, a.ResultSize(3, 0));
    if constexpr (kIsComplex<T>) {
      a.routine(mode, m, n, matrix, std::max(1, m), a.Out<Real>(1), a.Out<T>(2), ldu, a.Out<T>(3), ldvt, work,
                size, real_work.data(), int_work.data(), a.Out<int32_t>(4));
    } else {
      a.routine(mode, m, n, matrix, std::max(1, m), a.Out<Real>(1), a.Out<T>(2), ldu, a.Out<T>(3), ldvt, work,
                size, int_work.data(), a.Out<int32_t>(4));
    }
  });
}

template <typename T>
void Gesvd(const LapackArguments& a) {
  const int32_t m = a.Size(0, 0), n = a.Size(0, 1);
  const char mode = a.Letter("mode");
  T* matrix = a.Changed<T>(0, 0);
  using Real = typename RealOf<T>::type;
  std::vector<Real> real_work(static_cast<size_t>(5 * std::min(m, n)));
  WithWorkspace<T>([&](T* work, int32_t size) {
    const int32_t ldu = std::max(1, m), ldvt = std::max(1, a.ResultSize(3, 0));
    if constexpr (kIsComplex<T>) {
      a.routine(mode, mode, m, n, matrix, std::max(1, m), a.Out<Real>(1), a.Out<T>(2), ldu, a.Out<T>(3), ldvt,
                work, size, real_work.data(), a.Out<int32_t>(4));
    } else {
      a.routine(mode, mode, m, n, matrix, std::max(1, m), a.Out<Real>(1), a.Out<T>(2), ldu, a.Out<T>(3), ldvt,
                work, size, a.Out<int32_t>(4));
    }
  });
}

// Of a symmetric or Hermitian matrix.
template <typename T>
void Syevd(const LapackArguments& a) {
  const int32_t n = a.Size(0, 0), ld = std::max(1, n);
  const char mode = a.Letter("mode"), uplo = a.Letter("uplo");
  T* matrix = a.Changed<T>(0, 0);
  using Real = typename RealOf<T>::type;
  const auto run = [&](T* work, int32_t size, Real* real_work, int32_t real_size, int32_t* int_work,
                       int32_t int_size) {
    if constexpr (kIsComplex<T>) {
      a.routine(mode, uplo, n, matrix, ld, a.Out<Real>(1), work, size, real_work, real_size, int_work,
                int_size, a.Out<int32_t>(2));
    } else {
      a.routine(mode, uplo, n, matrix, ld, a.Out<Real>(1), work, size, int_work, int_size, a.Out<int32_t>(2));
    }
  };
  T best = {};
  Real best_real = {};
  int32_t best_int = 0;
  run(&best, -1, &best_real, -1, &best_int, -1);
  const auto size = static_cast<int32_t>(std::max<Real>(1, std::real(best)));
  const auto real_size = static_cast<int32_t>(std::max<Real>(1, best_real));
  const int32_t int_size = std::max(1, best_int);
  std::vector<T> work(static_cast<size_t>(size));
  std::vector<Real> real_work(static_cast<size_t>(real_size));
  std::vector<int32_t> int_work(static_cast<size_t>(int_size));
  run(work.data(), size, real_work.data(), real_size, int_work.data(), int_size);
}

// A pair of conjugate eigenvectors comes as its real and its imaginary part.
template <typename T>
void Unpack(int32_t n, const T* imaginary_values, const std::vector<T>& packed, std::complex<T>* vectors) {
  for (int32_t j = 0; j < n; ++j) {
    const bool pair = imaginary_values[j] != 0 && j + 1 < n;
    for (int32_t i = 0; i < n; ++i) {
      const T re = packed[j * n + i], im = pair ? packed[(j + 1) * n + i] : T(0);
      vectors[j * n + i] = {re, im};
      if (pair) vectors[(j + 1) * n + i] = {re, -im};
    }
    if (pair) ++j;
  }
}

template <typename T>
void GeevReal(const LapackArguments& a) {
  const int32_t n = a.Size(0, 0), ld = std::max(1, n);
  const char left = a.Letter("compute_left"), right = a.Letter("compute_right");
  std::vector<T> matrix = a.Copy<T>(0), packed_left(matrix.size()), packed_right(matrix.size());
  auto* info = a.Out<int32_t>(4);
  *info = kNotFinite;
  if (!AllFinite(matrix)) return;
  WithWorkspace<T>([&](T* work, int32_t size) {
    a.routine(left, right, n, matrix.data(), ld, a.Out<T>(0), a.Out<T>(1), packed_left.data(), ld,
              packed_right.data(), ld, work, size, info);
  });
  if (*info != 0) return;
  if (left == 'V') Unpack(n, a.Out<T>(1), packed_left, a.Out<std::complex<T>>(2));
  if (right == 'V') Unpack(n, a.Out<T>(1), packed_right, a.Out<std::complex<T>>(3));
}

template <typename T>
void Geev(const LapackArguments& a) {
  if constexpr (!kIsComplex<T>) {
    GeevReal<T>(a);
  } else {
    const int32_t n = a.Size(0, 0), ld = std::max(1, n);
    std::vector<T> matrix = a.Copy<T>(0);
    std::vector<typename RealOf<T>::type> real_work(static_cast<size_t>(2 * n));
    auto* info = a.Out<int32_t>(3);
    *info = kNotFinite;
    if (!AllFinite(matrix)) return;
    WithWorkspace<T>([&](T* work, int32_t size) {
      a.routine(a.Letter("compute_left"), a.Letter("compute_right"), n, matrix.data(), ld, a.Out<T>(0),
                a.Out<T>(1), ld, a.Out<T>(2), ld, work, size, real_work.data(), info);
    });
  }
}

// The Schur form, its eigenvalues in LAPACK's order.
template <typename T>
void Gees(const LapackArguments& a) {
  const int32_t n = a.Size(0, 0), ld = std::max(1, n);
  const char mode = a.Letter("mode"), sort = 'N';
  void* const no_selection = nullptr;
  T* matrix = a.Changed<T>(0, 0);
  int32_t* const unused = nullptr;
  auto* info = a.Out<int32_t>(kIsComplex<T> ? 4 : 5);
  *info = kNotFinite;
  if (!AllFinite(a.Copy<T>(0))) return;
  WithWorkspace<T>([&](T* work, int32_t size) {
    if constexpr (kIsComplex<T>) {
      std::vector<typename RealOf<T>::type> real_work(static_cast<size_t>(n) + 1);
      a.routine(mode, sort, no_selection, n, matrix, ld, a.Out<int32_t>(3), a.Out<T>(2), a.Out<T>(1), ld,
                work, size, real_work.data(), unused, info);
    } else {
      a.routine(mode, sort, no_selection, n, matrix, ld, a.Out<int32_t>(4), a.Out<T>(2), a.Out<T>(3),
                a.Out<T>(1), ld, work, size, unused, info);
    }
  });
}

template <typename T>
void Gehrd(const LapackArguments& a) {
  const int32_t n = a.Size(0, 0);
  T* matrix = a.Changed<T>(0, 0);
  WithWorkspace<T>([&](T* work, int32_t size) {
    a.routine(n, a.Int("low"), a.Int("high"), matrix, std::max(1, n), a.Out<T>(1), work, size,
              a.Out<int32_t>(2));
  });
}

template <typename T>
void Sytrd(const LapackArguments& a) {
  const int32_t n = a.Size(0, 0);
  using Real = typename RealOf<T>::type;
  T* matrix = a.Changed<T>(0, 0);
  WithWorkspace<T>([&](T* work, int32_t size) {
    a.routine(a.Letter("uplo"), n, matrix, std::max(1, n), a.Out<Real>(1), a.Out<Real>(2), a.Out<T>(3), work,
              size, a.Out<int32_t>(4));
  });
}

}  // namespace

absl::Span<const LapackRow> LapackEigenvalues() {
  static const auto* const rows = new std::vector<LapackRow>{
      {"gesdd", "gesdd", SHOAL_LAPACK_TYPES(Gesdd), {"mode"}, 1, 5, 5},
      {"gesvd", "gesvd", SHOAL_LAPACK_TYPES(Gesvd), {"mode"}, 1, 5, 5},
      {"syevd", "heevd", SHOAL_LAPACK_TYPES(Syevd), {"mode", "uplo"}, 1, 3, 3},
      {"geev", "geev", SHOAL_LAPACK_TYPES(Geev), {"compute_left", "compute_right"}, 1, 5, 4},
      {"gees", "gees", SHOAL_LAPACK_TYPES(Gees), {"mode", "sort"}, 1, 6, 5},
      {"gehrd", "gehrd", SHOAL_LAPACK_TYPES(Gehrd), {"low", "high"}, 1, 3, 3},
      {"sytrd", "hetrd", SHOAL_LAPACK_TYPES(Sytrd), {"uplo"}, 1, 5, 5},
  };
  return *rows;
}

}  // namespace shoal

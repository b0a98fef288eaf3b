// T x = b for a tridiagonal T that may be singular, as inverse iteration wants it: T is an eigenvalue's shift
// away from a matrix, and x grows along the eigenvector.
//
// Elimination with row exchanges, by LAPACK's lagtf: of the row at hand and the next one, that is the pivot
// which is larger beside the rest of its own row. Then substitution by lagts (its job -1): a pivot by which
// the right side would overflow is moved away from zero, by a rounding error of the largest number of U,
// doubled until it does not.
#include <algorithm>
#include <cmath>
#include <limits>

#include "plugin/lapack/arguments.h"
#include "plugin/lapack/kernels.h"

namespace shoal {
namespace {

// One system of `n` rows with `columns` right sides, column-major; serves one after another.
template <typename T>
class PerturbedSystem {
 public:
  using Real = typename RealOf<T>::type;

  PerturbedSystem(int64_t n, int64_t columns) : n_(n), columns_(columns), u_(static_cast<size_t>(n)) {}

  // `x` begins as the right sides. lower[0] and upper[n - 1] stand for nothing.
  void Solve(const T* lower, const T* diagonal, const T* upper, T* x) {
    if (n_ == 0) return;
    Eliminate(lower, diagonal, upper, x);
    Substitute(x);
  }

 private:
  // A row of U: its diagonal and what stands right of it.
  struct Row {
    T pivot = {}, next = {}, second = {};
    Real sum() const { return std::abs(pivot) + std::abs(next) + std::abs(second); }
    Real largest() const { return std::max({std::abs(pivot), std::abs(next), std::abs(second)}); }
  };

  void Eliminate(const T* lower, const T* diagonal, const T* upper, T* x) {
    const auto above = [&](int64_t k) { return k + 1 < n_ ? upper[k] : T(0); };
    u_[0] = {diagonal[0], above(0), T(0)};
    Real scale = u_[0].sum();
    for (int64_t k = 0; k + 1 < n_; ++k) {
      Row& row = u_[k];
      const T below = lower[k + 1];
      const Row next = {diagonal[k + 1], above(k + 1), T(0)};
      const Real next_scale = std::abs(below) + next.sum();
      const Real weight = row.pivot == T(0) ? Real(0) : std::abs(row.pivot) / scale;
      if (below == T(0)) {
        u_[k + 1] = next;
        scale = next_scale;
      } else if (std::abs(below) / next_scale > weight) {
        const T factor = row.pivot / below;
        u_[k + 1] = {row.next - factor * next.pivot, -factor * next.next, T(0)};
        row = {below, next.pivot, next.next};
        for (int64_t j = 0; j < columns_; ++j) {
          T* const column = x + j * n_ + k;
          const T first = column[0];
          column[0] = column[1];
          column[1] = first - factor * column[1];
        }
      } else {
        const T factor = below / row.pivot;
        u_[k + 1] = {next.pivot - factor * row.next, next.next, T(0)};
        scale = next_scale;
        for (int64_t j = 0; j < columns_; ++j) x[j * n_ + k + 1] -= factor * x[j * n_ + k];
      }
    }
  }

  void Substitute(T* x) {
    Real largest = 0;
    for (const Row& row : u_) largest = std::max(largest, row.largest());
    const Real perturbation = largest * std::numeric_limits<Real>::epsilon();
    for (int64_t k = n_ - 1; k >= 0; --k) {
      const Row& row = u_[k];
      Real largest_right = 0;
      for (int64_t j = 0; j < columns_; ++j) {
        T* const column = x + j * n_;
        if (k + 1 < n_) column[k] -= row.next * column[k + 1];
        if (k + 2 < n_) column[k] -= row.second * column[k + 2];
        largest_right = std::max(largest_right, std::abs(column[k]));
      }
      T pivot = row.pivot;
      const Real factor = Perturb(perturbation, largest_right, pivot);
      for (int64_t j = 0; j < columns_; ++j) x[j * n_ + k] = x[j * n_ + k] * factor / pivot;
    }
  }

  // Changes `pivot` until numbers of `largest_right` can be divided by it, and returns by what they are to be
  // multiplied first.
  static Real Perturb(Real perturbation, Real largest_right, T& pivot) {
    constexpr Real kSmallest = std::numeric_limits<Real>::min();
    Real step = std::copysign(std::max(perturbation, kSmallest), std::real(pivot));
    for (Real size = std::abs(pivot); size < 1; size = std::abs(pivot), step *= 2) {
      const bool overflows =
          size < kSmallest ? size == 0 || largest_right * kSmallest > size : largest_right > size / kSmallest;
      if (!overflows) {
        if (size >= kSmallest) return 1;
        pivot /= kSmallest;
        return 1 / kSmallest;
      }
      pivot += step;
    }
    return 1;
  }

  const int64_t n_, columns_;
  std::vector<Row> u_;
};

template <typename T>
void Solve(const CustomCallSite& site, absl::Span<const void* const> operands,
           absl::Span<void* const> results) {
  const Shape& shape = site.operands[3];
  const int64_t n = shape.dim(shape.rank() - 2), columns = shape.dim(shape.rank() - 1);
  const int64_t batch = Product(shape.dims().subspan(0, shape.rank() - 2));
  auto* x = static_cast<T*>(results[0]);
  if (x != operands[3]) std::copy_n(static_cast<const T*>(operands[3]), batch * n * columns, x);
  PerturbedSystem<T> system(n, columns);
  for (int64_t item = 0; item < batch; ++item) {
    const auto diagonal = [&](size_t i) { return static_cast<const T*>(operands[i]) + item * n; };
    system.Solve(diagonal(0), diagonal(1), diagonal(2), x + item * n * columns);
  }
}

}  // namespace

CpuKernel TridiagonalSolvePerturbed(ElementType type) {
  switch (type) {
    case ElementType::kF32:
      return Solve<float>;
    case ElementType::kF64:
      return Solve<double>;
    case ElementType::kC64:
      return Solve<std::complex<float>>;
    case ElementType::kC128:
      return Solve<std::complex<double>>;
    default:
      return nullptr;
  }
}

absl::Status CheckTridiagonalSolvePerturbed(const CustomCallSite& site) {
  const Shape& diagonal = site.operands[0];
  const Shape& right = site.operands[3];
  const bool fits = site.operands[1] == diagonal && site.operands[2] == diagonal &&
                    right.rank() == diagonal.rank() + 1 && right == site.results[0] &&
                    right.element_type() == diagonal.element_type() &&
                    right.dims().subspan(0, diagonal.rank()) == diagonal.dims();
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "three diagonals of one shape [..., n] and right sides [..., n, k] like the result are wanted");
}

}  // namespace shoal

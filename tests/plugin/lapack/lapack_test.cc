// Each routine by what defines its results: A = QR, A v = lambda v, ... for batches of small matrices,
// column-major.
#include <cmath>
#include <complex>
#include <random>
#include <string>
#include <vector>

#include "core/runtime/custom_call.h"
#include "gmock/gmock.h"
#include "plugin/lapack/call.h"

namespace shoal {
namespace {

using ::testing::HasSubstr;
using C = std::complex<double>;

template <typename T>
constexpr ElementType kType = ElementType::kF64;
template <>
constexpr ElementType kType<C> = ElementType::kC128;
template <>
constexpr ElementType kType<float> = ElementType::kF32;
template <>
constexpr ElementType kType<int32_t> = ElementType::kS32;

double Conjugate(double x) { return x; }
float Conjugate(float x) { return x; }
C Conjugate(C x) { return std::conj(x); }

// A batch of column-major matrices; of vectors where columns is 0, of numbers where rows is too.
template <typename T>
struct Batch {
  Batch(int64_t rows, int64_t columns) : rows(rows), columns(columns) {
    DimVector dims = {kItems};
    if (rows > 0) dims.push_back(rows);
    if (columns > 0) dims.push_back(columns);
    shape = Shape::Array(kType<T>, dims);
    data.resize(static_cast<size_t>(shape.ElementCount()));
  }
  const T& at(int64_t item, int64_t i, int64_t j = 0) const {
    return data[(item * std::max<int64_t>(1, columns) + j) * std::max<int64_t>(1, rows) + i];
  }
  T& at(int64_t item, int64_t i, int64_t j = 0) {
    return const_cast<T&>(std::as_const(*this).at(item, i, j));
  }

  static constexpr int64_t kItems = 2;
  int64_t rows, columns;
  Shape shape;
  std::vector<T> data;
};

template <typename T>
Batch<T> Random(int64_t rows, int64_t columns) {
  static std::mt19937 random(7);
  std::normal_distribution<double> normal;
  Batch<T> batch(rows, columns);
  for (T& x : batch.data) {
    if constexpr (std::is_same_v<T, C>) {
      x = {normal(random), normal(random)};
    } else {
      x = static_cast<T>(normal(random));
    }
  }
  return batch;
}

template <typename T>
Batch<T> Multiply(const Batch<T>& a, const Batch<T>& b) {
  Batch<T> product(a.rows, b.columns);
  for (int64_t item = 0; item < Batch<T>::kItems; ++item) {
    for (int64_t i = 0; i < a.rows; ++i) {
      for (int64_t j = 0; j < b.columns; ++j) {
        for (int64_t k = 0; k < a.columns; ++k) product.at(item, i, j) += a.at(item, i, k) * b.at(item, k, j);
      }
    }
  }
  return product;
}

template <typename T>
Batch<T> Adjoint(const Batch<T>& a) {
  Batch<T> result(a.columns, a.rows);
  for (int64_t item = 0; item < Batch<T>::kItems; ++item) {
    for (int64_t i = 0; i < a.rows; ++i) {
      for (int64_t j = 0; j < a.columns; ++j) result.at(item, j, i) = Conjugate(a.at(item, i, j));
    }
  }
  return result;
}

// The part where keep(i, j) holds, ones on the diagonal if asked for.
template <typename T, typename Keep>
Batch<T> Part(const Batch<T>& a, int64_t rows, int64_t columns, bool unit, Keep keep) {
  Batch<T> result(rows, columns);
  for (int64_t item = 0; item < Batch<T>::kItems; ++item) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        if (keep(i, j)) result.at(item, i, j) = a.at(item, i, j);
        if (unit && i == j) result.at(item, i, j) = T(1);
      }
    }
  }
  return result;
}
bool Upper(int64_t i, int64_t j) { return i <= j; }
bool Lower(int64_t i, int64_t j) { return i >= j; }
bool BelowDiagonal(int64_t i, int64_t j) { return i > j; }

template <typename T>
void ExpectNear(const Batch<T>& a, const Batch<T>& b) {
  ASSERT_EQ(a.shape, b.shape);
  for (size_t i = 0; i < a.data.size(); ++i) EXPECT_LT(std::abs(a.data[i] - b.data[i]), 1e-12) << i;
}

struct Operand {
  template <typename T>
  Operand(Batch<T>& batch)
      : shape(batch.shape), data(batch.data.data()) {}  // NOLINT(google-explicit-constructor)
  Shape shape;
  void* data;
};

absl::Status Call(const std::string& target, const std::string& attributes, std::vector<Operand> operands,
                  std::vector<Operand> results) {
  ServeLapack();
  CustomCallSite site;
  site.target = target;
  site.backend_config = attributes;
  site.api_version = 4;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const Operand& operand : operands) {
    site.operands.push_back(operand.shape);
    in.push_back(operand.data);
  }
  for (const Operand& result : results) {
    site.results.push_back(result.shape);
    out.push_back(result.data);
  }
  absl::StatusOr<std::unique_ptr<CustomCall>> call = CustomCallRegistry::Get().Prepare(site);
  if (!call.ok()) return call.status();
  return (*call)->Start({}, in, out).Await();
}

#define EXPECT_CALL_OK(...)                         \
  do {                                              \
    const absl::Status status_ = Call(__VA_ARGS__); \
    if (absl::IsUnavailable(status_)) GTEST_SKIP(); \
    ASSERT_TRUE(status_.ok()) << status_;           \
  } while (false)

template <typename T>
class LapackTest : public ::testing::Test {
 protected:
  static constexpr bool kComplex = std::is_same_v<T, C>;
  // "getrf" with the letter of the type; `complex_name` where that has its own.
  static std::string Target(const std::string& name, const std::string& complex_name = "") {
    return (kComplex ? "lapack_z" : "lapack_d") + (kComplex && !complex_name.empty() ? complex_name : name) +
           "_ffi";
  }
};
using Types = ::testing::Types<double, C>;
TYPED_TEST_SUITE(LapackTest, Types);

TYPED_TEST(LapackTest, Cholesky) {
  using T = TypeParam;
  Batch<T> root = Random<T>(3, 3), a = Multiply(root, Adjoint(root)), out(3, 3);
  Batch<int32_t> info(0, 0);
  EXPECT_CALL_OK(this->Target("potrf"), "{uplo = 76 : ui8}", {a}, {out, info});
  Batch<T> lower = Part(out, 3, 3, false, Lower);
  ExpectNear(Multiply(lower, Adjoint(lower)), a);
  EXPECT_EQ(info.data[1], 0);
}

TYPED_TEST(LapackTest, LuAndTriangularSolve) {
  using T = TypeParam;
  Batch<T> a = Random<T>(4, 3), out(4, 3);
  Batch<int32_t> pivots(3, 0), info(0, 0);
  EXPECT_CALL_OK(this->Target("getrf"), "", {a}, {out, pivots, info});
  Batch<T> product = Multiply(Part(out, 4, 3, true, BelowDiagonal), Part(out, 3, 3, false, Upper));
  for (int64_t item = 0; item < 2; ++item) {
    for (int64_t k = 2; k >= 0; --k) {
      for (int64_t j = 0; j < 3; ++j)
        std::swap(product.at(item, k, j), product.at(item, pivots.at(item, k) - 1, j));
    }
  }
  ExpectNear(product, a);
  Batch<T> upper = Part(out, 3, 3, false, Upper), x = Random<T>(2, 3), right = Multiply(x, upper),
           found(2, 3);
  EXPECT_CALL_OK(this->Target("trsm"),
                 "{side = 82 : ui8, uplo = 85 : ui8, trans_x = 78 : ui8, diag = 78 : ui8}", {upper, right},
                 {found});
  ExpectNear(found, x);
}

TYPED_TEST(LapackTest, Qr) {
  using T = TypeParam;
  Batch<T> a = Random<T>(4, 3), out(4, 3), tau(3, 0), q(4, 3), product(4, 3);
  EXPECT_CALL_OK(this->Target("geqrf"), "", {a}, {out, tau});
  EXPECT_CALL_OK(this->Target("orgqr", "ungqr"), "", {out, tau}, {q});
  Batch<T> r = Part(out, 3, 3, false, Upper);
  ExpectNear(Multiply(q, r), a);
  // The same by reflectors.
  Batch<T> tall = Part(out, 4, 3, false, Upper);
  EXPECT_CALL_OK(this->Target("ormqr", "unmqr"), "{left = true, transpose = false}", {out, tau, tall},
                 {product});
  ExpectNear(product, a);
  Batch<int32_t> free(3, 0), pivots(3, 0);
  EXPECT_CALL_OK(this->Target("geqp3"), "", {a, free}, {out, pivots, tau});
  EXPECT_CALL_OK(this->Target("orgqr", "ungqr"), "", {out, tau}, {q});
  Batch<T> moved = Multiply(q, Part(out, 3, 3, false, Upper)), back(4, 3);
  for (int64_t item = 0; item < 2; ++item) {
    for (int64_t j = 0; j < 3; ++j) {
      for (int64_t i = 0; i < 4; ++i) back.at(item, i, pivots.at(item, j) - 1) = moved.at(item, i, j);
    }
  }
  ExpectNear(back, a);
}

TYPED_TEST(LapackTest, SingularValues) {
  using T = TypeParam;
  for (const char* name : {"gesdd", "gesvd"}) {
    Batch<T> a = Random<T>(4, 3), out(4, 3), u(4, 3), vt(3, 3);
    Batch<double> s(3, 0);
    Batch<int32_t> info(0, 0);
    EXPECT_CALL_OK(this->Target(name), "{mode = 83 : ui8}", {a}, {out, s, u, vt, info});
    for (int64_t item = 0; item < 2; ++item) {
      for (int64_t i = 0; i < 4; ++i) {
        for (int64_t j = 0; j < 3; ++j) u.at(item, i, j) *= s.at(item, j);
      }
    }
    ExpectNear(Multiply(u, vt), a);
    ExpectNear(Multiply(Adjoint(u), u),
               Part(Multiply(Adjoint(u), u), 3, 3, false, [](auto i, auto j) { return i == j; }));
  }
}

TYPED_TEST(LapackTest, SymmetricEigenvalues) {
  using T = TypeParam;
  Batch<T> root = Random<T>(3, 3), a = Multiply(root, Adjoint(root)), v(3, 3), form(3, 3), tau(2, 0);
  Batch<double> w(3, 0), d(3, 0), e(2, 0);
  Batch<int32_t> info(0, 0);
  EXPECT_CALL_OK(this->Target("syevd", "heevd"), "{mode = 86 : ui8, uplo = 76 : ui8}", {a}, {v, w, info});
  Batch<T> scaled = v;
  for (int64_t item = 0; item < 2; ++item) {
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t j = 0; j < 3; ++j) scaled.at(item, i, j) *= w.at(item, j);
    }
  }
  ExpectNear(Multiply(a, v), scaled);
  EXPECT_CALL_OK(this->Target("sytrd", "hetrd"), "{uplo = 76 : ui8}", {a}, {form, d, e, tau, info});
  for (int64_t item = 0; item < 2; ++item) {  // the trace stays
    EXPECT_NEAR(d.at(item, 0) + d.at(item, 1) + d.at(item, 2), w.at(item, 0) + w.at(item, 1) + w.at(item, 2),
                1e-12);
  }
}

TYPED_TEST(LapackTest, SchurAndHessenberg) {
  using T = TypeParam;
  Batch<T> a = Random<T>(4, 4), form(4, 4), vectors(4, 4), w(4, 0), wi(4, 0), tau(3, 0);
  Batch<int32_t> chosen(0, 0), info(0, 0);
  std::vector<Operand> results = {form, vectors, w, chosen, info};
  if (!this->kComplex) results = {form, vectors, w, wi, chosen, info};
  EXPECT_CALL_OK(this->Target("gees"), "{mode = 86 : ui8, sort = 78 : ui8}", {a}, results);
  ExpectNear(Multiply(Multiply(vectors, form), Adjoint(vectors)), a);
  EXPECT_CALL_OK(this->Target("gehrd"), "{low = 1 : i32, high = 4 : i32}", {a}, {form, tau, info});
  EXPECT_EQ(info.data[0], 0);
}

// The product with what three diagonals stand for; of several right sides.
template <typename T>
Batch<T> MultiplyTridiagonal(const Batch<T>& lower, const Batch<T>& diagonal, const Batch<T>& upper,
                             const Batch<T>& x) {
  Batch<T> product(x.rows, x.columns);
  for (int64_t item = 0; item < Batch<T>::kItems; ++item) {
    for (int64_t j = 0; j < x.columns; ++j) {
      for (int64_t i = 0; i < x.rows; ++i) {
        product.at(item, i, j) = diagonal.at(item, i) * x.at(item, i, j);
        if (i > 0) product.at(item, i, j) += lower.at(item, i) * x.at(item, i - 1, j);
        if (i + 1 < x.rows) product.at(item, i, j) += upper.at(item, i) * x.at(item, i + 1, j);
      }
    }
  }
  return product;
}

TYPED_TEST(LapackTest, Tridiagonal) {
  using T = TypeParam;
  Batch<T> dl = Random<T>(4, 0), d = Random<T>(4, 0), du = Random<T>(4, 0), x = Random<T>(4, 2);
  Batch<T> b = MultiplyTridiagonal(dl, d, du, x), dl_out(4, 0), d_out(4, 0), du_out(4, 0), found(4, 2);
  Batch<int32_t> info(0, 0);
  EXPECT_CALL_OK(this->Target("gtsv"), "", {dl, d, du, b}, {dl_out, d_out, du_out, found, info});
  for (size_t i = 0; i < x.data.size(); ++i) EXPECT_LT(std::abs(found.data[i] - x.data[i]), 1e-9);
}

TYPED_TEST(LapackTest, TridiagonalSystemsMayBeSingular) {
  using T = TypeParam;
  constexpr const char* kTarget = "tridiagonal_solve_perturbed_ffi";
  for (const int64_t n : {1, 2, 7}) {
    Batch<T> dl = Random<T>(n, 0), d = Random<T>(n, 0), du = Random<T>(n, 0), x = Random<T>(n, 2),
             found(n, 2);
    Batch<T> b = MultiplyTridiagonal(dl, d, du, x);
    ASSERT_TRUE(Call(kTarget, "", {dl, d, du, b}, {found}).ok());
    for (size_t i = 0; i < x.data.size(); ++i) EXPECT_LT(std::abs(found.data[i] - x.data[i]), 1e-9) << n;
  }
  // -1 2 -1 has the eigenvalues 2 - 2 cos(pi k / (n + 1)) and sines for eigenvectors: two solutions with a
  // shift by one, and the answer is its vector.
  constexpr int64_t kN = 9;
  Batch<T> side(kN, 0), diagonal(kN, 0), first = Random<T>(kN, 1), grown(kN, 1), again(kN, 1);
  for (int64_t item = 0; item < 2; ++item) {
    for (int64_t i = 0; i < kN; ++i) {
      side.at(item, i) = -1;
      diagonal.at(item, i) = 2 * std::cos(M_PI * (item + 3) / (kN + 1));
    }
  }
  ASSERT_TRUE(Call(kTarget, "", {side, diagonal, side, first}, {grown}).ok());
  for (T& value : grown.data) value *= 1e-12;
  ASSERT_TRUE(Call(kTarget, "", {side, diagonal, side, grown}, {again}).ok());
  for (int64_t item = 0; item < 2; ++item) {
    const auto sine = [&](int64_t i) { return std::sin(M_PI * (item + 3) * (i + 1) / (kN + 1)); };
    EXPECT_GT(std::abs(again.at(item, 0)), 1);
    for (int64_t i = 0; i < kN; ++i) {
      const T wanted = again.at(item, 0) * (sine(i) / sine(0));
      EXPECT_LT(std::abs(again.at(item, i) - wanted), 1e-10 * std::abs(again.at(item, 0))) << i;
    }
  }
  Batch<T> zero(3, 0), ones(3, 1), out(3, 1);
  for (T& value : ones.data) value = 1;
  ASSERT_TRUE(Call(kTarget, "", {zero, zero, zero, ones}, {out}).ok());
  for (const T& value : out.data) EXPECT_TRUE(std::isfinite(std::abs(value)) && std::abs(value) > 1e6);
  EXPECT_THAT(std::string(Call(kTarget, "", {zero, zero, zero, zero}, {out}).message()),
              HasSubstr("right sides [..., n, k]"));
}

TEST(LapackTest, SparseMatrices) {
  const auto shape = [](ElementType type, DimVector dims) { return Shape::Array(type, dims); };
  // {{0, 5, 0, 7}, {}, {0, 0, -2, 0}}, and a fourth number that no row has.
  std::vector<C> data = {5, 7, -2, 100}, dense = {1, 2, C(0, 1), 4, 5, 6, 7, 8}, out(6);
  std::vector<int32_t> rows = {0, 2, 2, 3}, columns = {1, 3, 2, 9};
  CustomCallSite site{.target = "cpu_csr_sparse_dense_ffi"};
  site.operands = {shape(ElementType::kC128, {4}), shape(ElementType::kS32, {4}),
                   shape(ElementType::kS32, {4}), shape(ElementType::kC128, {4, 2})};
  site.results = {shape(ElementType::kC128, {3, 2})};
  ServeLapack();
  auto call = CustomCallRegistry::Get().Prepare(site);
  ASSERT_TRUE(call.ok()) << call.status();
  const void* in[] = {data.data(), rows.data(), columns.data(), dense.data()};
  void* results[] = {out.data()};
  ASSERT_TRUE((*call)->Start({}, in, results).Await().ok());
  EXPECT_EQ(out, (std::vector<C>{C(49, 5), 76, 0, 0, -10, -12}));
  site.operands[1] = shape(ElementType::kS64, {4});
  EXPECT_THAT(std::string(CustomCallRegistry::Get().Prepare(site).status().message()),
              HasSubstr("of one type"));
}

constexpr const char* kBothSides = "{compute_left = 78 : ui8, compute_right = 86 : ui8}";

TEST(LapackTest, EigenvaluesOfRealNumbers) {
  Batch<double> a(2, 2), re(2, 0), im(2, 0);
  for (int64_t item = 0; item < 2; ++item) {  // a turn by 90 degrees, and a diagonal
    a.at(item, 0, 0) = item == 0 ? 0 : 3;
    a.at(item, 1, 1) = item == 0 ? 0 : -2;
    a.at(item, 0, 1) = item == 0 ? -1 : 0;
    a.at(item, 1, 0) = item == 0 ? 1 : 0;
  }
  Batch<C> left(2, 2), right(2, 2), wide(2, 2);
  Batch<int32_t> info(0, 0);
  EXPECT_CALL_OK("lapack_dgeev_ffi", kBothSides, {a}, {re, im, left, right, info});
  for (int64_t i = 0; i < 8; ++i) wide.data[i] = a.data[i];
  Batch<C> scaled = right;
  for (int64_t item = 0; item < 2; ++item) {
    for (int64_t j = 0; j < 2; ++j) {
      for (int64_t i = 0; i < 2; ++i) scaled.at(item, i, j) *= C(re.at(item, j), im.at(item, j));
    }
  }
  ExpectNear(Multiply(wide, right), scaled);
  EXPECT_NEAR(std::abs(im.at(0, 0)), 1, 1e-15);
  a.data[0] = NAN;
  EXPECT_CALL_OK("lapack_dgeev_ffi", kBothSides, {a}, {re, im, left, right, info});
  EXPECT_NE(info.data[0], 0);
  EXPECT_EQ(info.data[1], 0);
}

TEST(LapackTest, EigenvaluesOfComplexNumbers) {
  Batch<C> a = Random<C>(3, 3), w(3, 0), left(3, 3), right(3, 3);
  Batch<int32_t> info(0, 0);
  EXPECT_CALL_OK("lapack_zgeev_ffi", kBothSides, {a}, {w, left, right, info});
  Batch<C> scaled = right;
  for (int64_t item = 0; item < 2; ++item) {
    for (int64_t j = 0; j < 3; ++j) {
      for (int64_t i = 0; i < 3; ++i) scaled.at(item, i, j) *= w.at(item, j);
    }
  }
  ExpectNear(Multiply(a, right), scaled);
}

TEST(LapackTest, WhatIsWrongIsSaid) {
  Batch<float> a(2, 2), out(2, 2);
  Batch<int32_t> info(0, 0);
  const absl::Status missing = Call("lapack_spotrf_ffi", "", {a}, {out, info});
  if (absl::IsUnavailable(missing)) GTEST_SKIP();
  EXPECT_EQ(missing.message(), "custom call 'lapack_spotrf_ffi': the attribute 'uplo' is missing");
  EXPECT_THAT(std::string(Call("lapack_spotrf_ffi", "{uplo = 76 : ui8}", {a}, {out}).message()),
              HasSubstr("1 operands and 1 results instead of 1 and 2"));
  EXPECT_THAT(std::string(Call("lapack_dpotrf_ffi", "{uplo = 76 : ui8}", {a}, {out, info}).message()),
              HasSubstr("operand 0 is f32"));
  EXPECT_THAT(std::string(Call("lapack_sxyz_ffi", "", {a}, {out}).message()), HasSubstr("is not registered"));
}

}  // namespace
}  // namespace shoal

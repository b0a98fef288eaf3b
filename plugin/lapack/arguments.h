// The operands, results and attributes of one LAPACK call, matrix by matrix of its batch. Matrices are
// column-major, as the program's layouts say.
#pragma once

#include <complex>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "core/runtime/custom_call.h"
#include "plugin/lapack/library.h"

namespace shoal {

template <typename T>
struct RealOf {
  using type = T;
};
template <typename T>
struct RealOf<std::complex<T>> {
  using type = T;
};
template <typename T>
inline constexpr bool kIsComplex = !std::is_same_v<T, typename RealOf<T>::type>;

// Values of integer and boolean attributes, by name.
using LapackAttributes = absl::flat_hash_map<std::string, int64_t>;

class LapackArguments {
 public:
  LapackArguments(const CustomCallSite& site, const LapackAttributes& attributes,
                  const LapackRoutine& routine, absl::Span<const void* const> operands,
                  absl::Span<void* const> results)
      : routine(routine), site_(site), attributes_(attributes), operands_(operands), results_(results) {
    for (const Shape& shape : site.operands) {
      if (shape.rank() - 2 > batch_rank_) batch_rank_ = shape.rank() - 2;
    }
  }

  // How many problems there are; `item` is one of them from now on.
  int64_t batch() const { return Product(site_.operands[0].dims().subspan(0, batch_rank_)); }
  void set_item(int64_t item) { item_ = item; }

  // Sizes beyond those of the batch.
  int32_t Size(size_t operand, int64_t dimension) const {
    return static_cast<int32_t>(site_.operands[operand].dim(batch_rank_ + dimension));
  }
  int32_t ResultSize(size_t result, int64_t dimension) const {
    return static_cast<int32_t>(site_.results[result].dim(batch_rank_ + dimension));
  }

  template <typename T>
  const T* In(size_t operand) const {
    return static_cast<const T*>(operands_[operand]) + item_ * Elements(site_.operands[operand]);
  }
  template <typename T>
  T* Out(size_t result) const {
    return static_cast<T*>(results_[result]) + item_ * Elements(site_.results[result]);
  }
  // Result `result`, which begins as operand `operand`.
  template <typename T>
  T* Changed(size_t operand, size_t result) const {
    T* out = Out<T>(result);
    if (out != In<T>(operand))
      std::memcpy(out, In<T>(operand), Elements(site_.operands[operand]) * sizeof(T));
    return out;
  }
  template <typename T>
  std::vector<T> Copy(size_t operand) const {
    return std::vector<T>(In<T>(operand), In<T>(operand) + Elements(site_.operands[operand]));
  }

  // An attribute as LAPACK's letter ('L'), as a number or a truth.
  char Letter(const std::string& name) const { return static_cast<char>(attributes_.at(name)); }
  int32_t Int(const std::string& name) const { return static_cast<int32_t>(attributes_.at(name)); }

  const LapackRoutine& routine;

 private:
  int64_t Elements(const Shape& shape) const { return Product(shape.dims().subspan(batch_rank_)); }

  const CustomCallSite& site_;
  const LapackAttributes& attributes_;
  absl::Span<const void* const> operands_;
  absl::Span<void* const> results_;
  int64_t batch_rank_ = 0;
  int64_t item_ = 0;
};

// Calls compute(work, size) for the workspace that compute(&best, -1) asks for.
template <typename T, typename Compute>
void WithWorkspace(Compute compute) {
  T best = {};
  compute(&best, int32_t{-1});
  const auto size = static_cast<int32_t>(std::max(1.0, static_cast<double>(std::real(best))));
  std::vector<T> work(static_cast<size_t>(size));
  compute(work.data(), size);
}

// One problem of a batch.
using LapackFunction = void (*)(const LapackArguments& arguments);
// A routine for the four types; what LAPACK calls it for real and for complex numbers.
struct LapackRow {
  absl::string_view real_name, complex_name;
  LapackFunction functions[4];  // of f32, f64, c64, c128
  std::vector<std::string> attributes;
  size_t operands, real_results, complex_results;
};

// The functions of a row.
#define SHOAL_LAPACK_TYPES(function) \
  {function<float>, function<double>, function<std::complex<float>>, function<std::complex<double>>}

// The routines of a file each.
absl::Span<const LapackRow> LapackFactorizations();
absl::Span<const LapackRow> LapackEigenvalues();

}  // namespace shoal

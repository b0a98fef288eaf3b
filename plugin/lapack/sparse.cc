// A sparse matrix of compressed rows by a dense vector or matrix: `data[k]` stands in column `columns[k]`,
// and those of row i from rows[i] to rows[i + 1].
#include <algorithm>

#include "plugin/lapack/arguments.h"
#include "plugin/lapack/kernels.h"

namespace shoal {
namespace {

template <typename T, typename Index>
void Multiply(const CustomCallSite& site, absl::Span<const void* const> operands,
              absl::Span<void* const> results) {
  const auto* data = static_cast<const T*>(operands[0]);
  const auto* rows = static_cast<const Index*>(operands[1]);
  const auto* columns = static_cast<const Index*>(operands[2]);
  const auto* dense = static_cast<const T*>(operands[3]);
  auto* out = static_cast<T*>(results[0]);
  const int64_t count = site.operands[0].dim(0), inner = site.operands[3].dim(0);
  const int64_t width = site.operands[3].rank() == 1 ? 1 : site.operands[3].dim(1);
  const auto clamped = [count](Index at) { return std::clamp<int64_t>(at, 0, count); };
  for (int64_t i = 0; i < site.results[0].dim(0); ++i, out += width) {
    std::fill_n(out, width, T(0));
    for (int64_t k = clamped(rows[i]); k < clamped(rows[i + 1]); ++k) {
      // The indices are the program's numbers: those of padding may be beyond the matrix.
      if (columns[k] < 0 || columns[k] >= inner) continue;
      const T* const row = dense + columns[k] * width;
      for (int64_t j = 0; j < width; ++j) out[j] += data[k] * row[j];
    }
  }
}

template <typename T>
void MultiplyOf(const CustomCallSite& site, absl::Span<const void* const> operands,
                absl::Span<void* const> results) {
  if (site.operands[1].element_type() == ElementType::kS32)
    return Multiply<T, int32_t>(site, operands, results);
  Multiply<T, int64_t>(site, operands, results);
}

}  // namespace

CpuKernel CsrSparseDense(ElementType type) {
  switch (type) {
    case ElementType::kS32:
      return MultiplyOf<uint32_t>;  // whose sums wrap
    case ElementType::kS64:
      return MultiplyOf<uint64_t>;
    case ElementType::kF32:
      return MultiplyOf<float>;
    case ElementType::kF64:
      return MultiplyOf<double>;
    case ElementType::kC64:
      return MultiplyOf<std::complex<float>>;
    case ElementType::kC128:
      return MultiplyOf<std::complex<double>>;
    default:
      return nullptr;
  }
}

absl::Status CheckCsrSparseDense(const CustomCallSite& site) {
  const Shape &data = site.operands[0], &rows = site.operands[1], &columns = site.operands[2],
              &dense = site.operands[3], &out = site.results[0];
  const ElementType index = rows.element_type();
  const bool vectors = data.rank() == 1 && rows.rank() == 1 && columns.dims() == data.dims();
  const bool indices =
      (index == ElementType::kS32 || index == ElementType::kS64) && columns.element_type() == index;
  const bool result = dense.rank() <= 2 && out.IsArray() && out.rank() == dense.rank() &&
                      rows.dim(0) == out.dim(0) + 1 && (dense.rank() == 1 || out.dim(1) == dense.dim(1)) &&
                      dense.element_type() == data.element_type() &&
                      out.element_type() == data.element_type();
  if (vectors && indices && result) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "values [k], ends of rows [m + 1], columns [k] of one type, s32 or s64, and a dense [n] or [n, p] are "
      "wanted, "
      "for a result [m] or [m, p]");
}

}  // namespace shoal

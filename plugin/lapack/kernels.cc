#include "plugin/lapack/kernels.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status.h"

namespace shoal {
namespace {

struct KernelRow {
  absl::string_view target;
  size_t operands;
  CpuKernel (*of)(ElementType type);
  absl::Status (*check)(const CustomCallSite& site);
};

constexpr KernelRow kKernels[] = {
    {"cpu_csr_sparse_dense_ffi", 4, CsrSparseDense, CheckCsrSparseDense},
    {"tridiagonal_solve_perturbed_ffi", 4, TridiagonalSolvePerturbed, CheckTridiagonalSolvePerturbed},
};

class KernelCall : public CustomCall {
 public:
  KernelCall(CustomCallSite site, CpuKernel kernel) : site_(std::move(site)), kernel_(kernel) {}

  Future Start(const RunContext&, absl::Span<const void* const> operands,
               absl::Span<void* const> results) const override {
    kernel_(site_, operands, results);
    return Future();
  }

 private:
  const CustomCallSite site_;
  const CpuKernel kernel_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CustomCall>> MakeKernelCall(const CustomCallSite& site) {
  for (const KernelRow& row : kKernels) {
    if (site.target != row.target) continue;
    const auto operands = absl::StrJoin(site.operands, ", ", [](std::string* out, const Shape& shape) {
      absl::StrAppend(out, shape.ToString());
    });
    const std::string call = absl::StrCat("custom call '", site.target, "' of ", operands);
    if (site.operands.size() != row.operands || site.results.size() != 1)
      return absl::InvalidArgumentError(absl::StrCat(call, ": it takes ", row.operands, " and gives one"));
    for (const Shape& shape : site.operands) {
      if (!shape.IsArray() || shape.rank() < 1)
        return absl::InvalidArgumentError(absl::StrCat(call, ": it takes arrays of one dimension or more"));
    }
    const ElementType type = site.operands[0].element_type();
    const CpuKernel kernel = row.of(type);
    if (kernel == nullptr)
      return absl::InvalidArgumentError(absl::StrCat(call, ": it has no kernel of ", ElementTypeName(type)));
    SHOAL_RETURN_IF_ERROR(Annotate(row.check(site), call));
    return std::make_unique<KernelCall>(site, kernel);
  }
  return absl::NotFoundError("no kernel of JAX's");
}

}  // namespace shoal

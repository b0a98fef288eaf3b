// What JAX's lowerings for CPUs call beside LAPACK: numeric kernels that jaxlib has of its own, for programs
// whose client has brought none.
//
//   tridiagonal_solve_perturbed_ffi   T x = b for a tridiagonal T that may be singular
//   cpu_csr_sparse_dense_ffi          a sparse matrix of compressed rows by a dense vector or matrix
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "core/runtime/custom_call.h"

namespace shoal {

// NotFound for a target that is none of them, InvalidArgument for operands that do not fit. Thread-safe.
absl::StatusOr<std::unique_ptr<CustomCall>> MakeKernelCall(const CustomCallSite& site);

// The kernels: a file each. Operands and results as their Check wants them.
using CpuKernel = void (*)(const CustomCallSite& site, absl::Span<const void* const> operands,
                           absl::Span<void* const> results);
// Null for an element type that the kernel has not.
CpuKernel TridiagonalSolvePerturbed(ElementType type);
absl::Status CheckTridiagonalSolvePerturbed(const CustomCallSite& site);
CpuKernel CsrSparseDense(ElementType type);
absl::Status CheckCsrSparseDense(const CustomCallSite& site);

}  // namespace shoal

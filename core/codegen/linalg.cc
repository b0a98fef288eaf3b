// EmitLinalgKernel: cholesky and triangular-solve, done by core/kernels/linalg.h.
#include "core/kernels/linalg.h"

#include <algorithm>

#include "core/base/status.h"
#include "core/codegen/native_call.h"

namespace shoal {
namespace {

constexpr double kMultiplyNs = 0.1;      // of a real multiplication and addition in small blocks
constexpr double kNumberNs = 2;          // to copy a number in and out
constexpr int64_t kVectorsInUnit = 128;  // of a triangular-solve: enough for each to read the triangle again

absl::StatusOr<MatrixType> TypeOf(const Instruction& op) {
  switch (op.operand(0)->shape().element_type()) {
    case ElementType::kF32:
      return kFloat32;
    case ElementType::kF64:
      return kFloat64;
    case ElementType::kC64:
      return kComplex64;
    case ElementType::kC128:
      return kComplex128;
    default:
      return NoEmitter(op);
  }
}

}  // namespace

absl::StatusOr<Kernel> EmitLinalgKernel(const KernelView& view, const std::string& name, IrModule& ir) {
  const Instruction& op = *view.root;
  const Shape& a = op.operand(0)->shape();
  SHOAL_ASSIGN_OR_RETURN(MatrixType type, TypeOf(op));
  const int64_t n = a.dim(a.rank() - 1);
  const double parts = IsComplex(a.element_type()) ? 4 : 1, size = static_cast<double>(n);
  Kernel kernel;
  if (op.shape().ElementCount() == 0) return kernel;
  if (op.opcode() == Opcode::kCholesky) {
    CholeskyCall call;
    call.type = type;
    call.size = n;
    call.lower = op.attributes<CholeskyAttributes>().lower;
    const double unit_ns = parts * (size * size * size / 6 * kMultiplyNs + size * size * kNumberNs);
    const int64_t units = a.ElementCount() / (n * n);
    AppendNativeCall("shoal_cholesky", WordsOf(call),
                     PhaseOf(name, units, unit_ns * static_cast<double>(units)), ir, kernel);
    return kernel;
  }
  const auto& solve = op.attributes<TriangularSolveAttributes>();
  TriangularSolveCall call;
  call.type = type;
  call.size = n;
  call.vectors = op.shape().dim(op.shape().rank() - (solve.left_side ? 1 : 2));
  call.vectors_per_unit = std::min(call.vectors, std::max(kVectorsInUnit, n / 2));
  call.left_side = solve.left_side;
  call.lower = solve.lower;
  call.unit_diagonal = solve.unit_diagonal;
  call.transpose = solve.transpose_a != TransposeKind::kNoTranspose;
  call.conjugate = solve.transpose_a == TransposeKind::kAdjoint;
  const double vectors = static_cast<double>(call.vectors_per_unit);
  const double unit_ns =
      parts * (size * size * vectors / 2 * kMultiplyNs + size * (size + vectors) * kNumberNs);
  const int64_t matrices = a.ElementCount() / (n * n);
  const int64_t units = matrices * call.units_per_matrix();
  AppendNativeCall("shoal_triangular_solve", WordsOf(call),
                   PhaseOf(name, units, unit_ns * static_cast<double>(units)), ir, kernel);
  return kernel;
}

}  // namespace shoal

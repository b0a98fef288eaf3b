// What generated code calls for cholesky and triangular-solve: functions over a batch of row-major matrices.
// Blocked: the work is MultiplySubtract's. Descriptions are plain integers, for the code carries them as
// constants.
#pragma once

#include <cstdint>

namespace shoal {

enum MatrixType : int64_t { kFloat32, kFloat64, kComplex64, kComplex128 };

// run.operator()<T, IsComplex>() for the parts of `type`'s numbers.
template <class Run>
void WithMatrixType(int64_t type, Run run) {
  switch (type) {
    case kFloat32:
      return run.template operator()<float, false>();
    case kFloat64:
      return run.template operator()<double, false>();
    case kComplex64:
      return run.template operator()<float, true>();
    default:
      return run.template operator()<double, true>();
  }
}

// Operand buffer 0, result buffer 1; a unit is a matrix. Only one triangle of the operand is read. The other
// triangle of the result is zero; a matrix that is not positive definite gives NaNs.
struct CholeskyCall {
  int64_t type = kFloat32;
  int64_t size = 0;
  int64_t lower = 1;
};

// op(a) x = b, or x op(a) = b: a is buffer 0, b buffer 1, x buffer 2. A unit is `columns_per_unit` of the
// vectors of one matrix.
struct TriangularSolveCall {
  int64_t type = kFloat32;
  int64_t size = 0;     // of a
  int64_t vectors = 0;  // columns of b, or rows on the right side
  int64_t vectors_per_unit = 1;
  int64_t left_side = 1, lower = 1, unit_diagonal = 0, transpose = 0, conjugate = 0;

  int64_t units_per_matrix() const { return (vectors + vectors_per_unit - 1) / vectors_per_unit; }
};

}  // namespace shoal

extern "C" void shoal_cholesky(const int64_t* call, char* const* buffers, int64_t begin, int64_t end);
extern "C" void shoal_triangular_solve(const int64_t* call, char* const* buffers, int64_t begin, int64_t end);

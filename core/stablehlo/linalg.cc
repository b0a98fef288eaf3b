#include "absl/strings/str_cat.h"
#include "core/stablehlo/families.h"
#include "core/stablehlo/importer.h"

namespace shoal {

absl::Status ImportCholesky(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(1));
  CholeskyAttributes attributes;
  SHOAL_ASSIGN_OR_RETURN(attributes.lower, c.BoolOr("lower", false));
  return c.Emit(Opcode::kCholesky, c.operands(), attributes);
}

absl::Status ImportTriangularSolve(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(2));
  TriangularSolveAttributes attributes;
  SHOAL_ASSIGN_OR_RETURN(attributes.left_side, c.BoolOr("left_side", true));
  SHOAL_ASSIGN_OR_RETURN(attributes.lower, c.BoolOr("lower", true));
  SHOAL_ASSIGN_OR_RETURN(attributes.unit_diagonal, c.BoolOr("unit_diagonal", false));
  SHOAL_ASSIGN_OR_RETURN(absl::string_view transpose, c.TextOr("transpose_a", "NO_TRANSPOSE"));
  if (transpose == "TRANSPOSE") {
    attributes.transpose_a = TransposeKind::kTranspose;
  } else if (transpose == "ADJOINT") {
    attributes.transpose_a = TransposeKind::kAdjoint;
  } else if (transpose != "NO_TRANSPOSE") {
    return c.Error(absl::StrCat("transpose_a is ", transpose));
  }
  return c.Emit(Opcode::kTriangularSolve, c.operands(), attributes);
}

}  // namespace shoal

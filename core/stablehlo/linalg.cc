#include "absl/strings/str_cat.h"
#include "core/stablehlo/families.h"
#include "core/stablehlo/importer.h"

namespace shoal {

namespace {

// Floats narrower than f32 are computed in f32.
absl::Status EmitWide(OpImporter& c, Opcode opcode, Attributes attributes) {
  for (size_t i = 0; i < c.operands().size(); ++i) SHOAL_RETURN_IF_ERROR(c.ExpectArray(i));
  const ElementType type = c.operand_shape(0).element_type();
  if (!IsNarrowFloat(type)) return c.Emit(opcode, c.operands(), std::move(attributes));
  std::vector<Instruction*> wide;
  for (Instruction* operand : c.operands()) {
    wide.push_back(c.Add(Opcode::kConvert, operand->shape().WithElementType(ElementType::kF32), {operand}));
  }
  SHOAL_ASSIGN_OR_RETURN(Shape shape, c.ResultShape());
  Instruction* result = c.Add(opcode, shape.WithElementType(ElementType::kF32), wide, std::move(attributes));
  return c.Emit(Opcode::kConvert, {result});
}

}  // namespace

absl::Status ImportCholesky(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(1));
  CholeskyAttributes attributes;
  SHOAL_ASSIGN_OR_RETURN(attributes.lower, c.BoolOr("lower", false));
  return EmitWide(c, Opcode::kCholesky, attributes);
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
  return EmitWide(c, Opcode::kTriangularSolve, attributes);
}

}  // namespace shoal

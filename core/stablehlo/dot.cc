#include "core/stablehlo/families.h"
#include "core/stablehlo/importer.h"

namespace shoal {

absl::StatusOr<Precision> PrecisionOf(const OpImporter& c) {
  Precision highest = Precision::kDefault;
  const MlirAttribute* list = c.Find("precision_config");
  if (list == nullptr) return highest;
  for (const MlirAttribute* element : list->elements) {
    Precision precision = Precision::kDefault;
    if (element->text == "HIGH") {
      precision = Precision::kHigh;
    } else if (element->text == "HIGHEST") {
      precision = Precision::kHighest;
    } else if (element->text != "DEFAULT") {
      return c.Error("a precision that StableHLO does not have");
    }
    highest = std::max(highest, precision);
  }
  return highest;
}

namespace {

// A real product of complex numbers, as JAX's preferred_element_type may ask for, is the real part of the
// complex one.
absl::Status EmitDot(OpImporter& c, DotAttributes attributes) {
  SHOAL_RETURN_IF_ERROR(c.ExpectArray(0));
  SHOAL_ASSIGN_OR_RETURN(Shape shape, c.ResultShape());
  const ElementType type = c.operand_shape(0).element_type();
  if (!IsComplex(type) || !shape.IsArray() || IsComplex(shape.element_type()))
    return c.Emit(Opcode::kDot, c.operands(), std::move(attributes));
  Instruction* product =
      c.Add(Opcode::kDot, shape.WithElementType(type), c.operands(), std::move(attributes));
  Instruction* real = c.Add(Opcode::kReal, shape.WithElementType(RealPart(type)), {product});
  return c.Emit(Opcode::kConvert, {real});
}

}  // namespace

absl::Status ImportDotGeneral(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(2));
  DotAttributes attributes;
  SHOAL_ASSIGN_OR_RETURN(attributes.lhs_batch_dims, c.IntsOr("lhs_batching_dimensions", 0, 0));
  SHOAL_ASSIGN_OR_RETURN(attributes.rhs_batch_dims, c.IntsOr("rhs_batching_dimensions", 0, 0));
  SHOAL_ASSIGN_OR_RETURN(attributes.lhs_contracting_dims, c.IntsOr("lhs_contracting_dimensions", 0, 0));
  SHOAL_ASSIGN_OR_RETURN(attributes.rhs_contracting_dims, c.IntsOr("rhs_contracting_dimensions", 0, 0));
  SHOAL_ASSIGN_OR_RETURN(attributes.precision, PrecisionOf(c));
  return EmitDot(c, std::move(attributes));
}

// Contracts the last dimension of the left with the first of the right.
absl::Status ImportDot(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(2));
  SHOAL_RETURN_IF_ERROR(c.ExpectArray(0));
  if (c.operand_shape(0).rank() == 0) return c.Error("operand 0 is a scalar");
  DotAttributes attributes;
  attributes.lhs_contracting_dims = {c.operand_shape(0).rank() - 1};
  attributes.rhs_contracting_dims = {0};
  SHOAL_ASSIGN_OR_RETURN(attributes.precision, PrecisionOf(c));
  return EmitDot(c, std::move(attributes));
}

}  // namespace shoal

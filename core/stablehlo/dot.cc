#include "absl/strings/str_cat.h"
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

// A result that holds less than the factors, as JAX's preferred_element_type may ask for, is converted from
// the product in their own type; a real one of complex numbers is its real part.
absl::Status EmitDot(OpImporter& c, DotAttributes attributes) {
  SHOAL_RETURN_IF_ERROR(c.ExpectArray(0));
  SHOAL_RETURN_IF_ERROR(c.ExpectArray(1));
  SHOAL_ASSIGN_OR_RETURN(Shape shape, c.ResultShape());
  const ElementType type = c.operand_shape(0).element_type();
  const bool narrower = shape.IsArray() && BitWidth(shape.element_type()) < BitWidth(type);
  if (!narrower || c.operand_shape(1).element_type() != type)
    return c.Emit(Opcode::kDot, c.operands(), std::move(attributes));
  Instruction* product =
      c.Add(Opcode::kDot, shape.WithElementType(type), c.operands(), std::move(attributes));
  if (IsComplex(type) && !IsComplex(shape.element_type()))
    product = c.Add(Opcode::kReal, shape.WithElementType(RealPart(type)), {product});
  return c.Emit(Opcode::kConvert, {product});
}

// I8 to I10: the types that an algorithm computes in are floats, TensorFloat-32 (which the reader names)
// among them.
absl::Status CheckAlgorithmTypes(const OpImporter& c, const MlirAttribute* algorithm) {
  constexpr struct {
    absl::string_view name, label;
  } kTypes[] = {{"lhs_precision_type", "I8"}, {"rhs_precision_type", "I9"}, {"accumulation_type", "I10"}};
  for (const auto& [name, label] : kTypes) {
    const MlirAttribute* type = algorithm != nullptr ? algorithm->Find(name) : c.Find(name);
    if (type == nullptr || type->kind != MlirAttributeKind::kType || type->type == nullptr) continue;
    if (type->type->kind == MlirTypeKind::kScalar && !IsFloat(type->type->element))
      return c.Error(label, absl::StrCat(name, " is ", ElementTypeName(type->type->element)));
  }
  return absl::OkStatus();
}

// C11, C21 to C24 and I8 to I10.
absl::Status CheckPrecision(const OpImporter& c) {
  const MlirAttribute* precision = c.Find("precision_config");
  if (precision != nullptr && precision->elements.size() > 2)
    return c.Error("C11", absl::StrCat(precision->elements.size(), " precisions for two operands"));
  const MlirAttribute* algorithm =
      c.Find("algorithm");  // a record in text, attributes of the operation in bytecode
  SHOAL_RETURN_IF_ERROR(CheckAlgorithmTypes(c, algorithm));
  constexpr struct {
    absl::string_view name, label;
  } kCounts[] = {
      {"lhs_component_count", "C22"}, {"rhs_component_count", "C23"}, {"num_primitive_operations", "C24"}};
  for (const auto& [name, label] : kCounts) {
    const MlirAttribute* count = algorithm != nullptr ? algorithm->Find(name) : c.Find(name);
    if (count == nullptr || count->kind != MlirAttributeKind::kInteger) continue;
    if (count->integer < 1) return c.Error(label, absl::StrCat(name, " is ", count->integer));
    SHOAL_ASSIGN_OR_RETURN(Precision highest, PrecisionOf(c));
    if (highest != Precision::kDefault) return c.Error("C21", "a precision beside an algorithm");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ImportDotGeneral(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(2));
  SHOAL_RETURN_IF_ERROR(CheckPrecision(c));
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

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

absl::Status ImportDotGeneral(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(2));
  DotAttributes attributes;
  SHOAL_ASSIGN_OR_RETURN(attributes.lhs_batch_dims, c.IntsOr("lhs_batching_dimensions", 0, 0));
  SHOAL_ASSIGN_OR_RETURN(attributes.rhs_batch_dims, c.IntsOr("rhs_batching_dimensions", 0, 0));
  SHOAL_ASSIGN_OR_RETURN(attributes.lhs_contracting_dims, c.IntsOr("lhs_contracting_dimensions", 0, 0));
  SHOAL_ASSIGN_OR_RETURN(attributes.rhs_contracting_dims, c.IntsOr("rhs_contracting_dimensions", 0, 0));
  SHOAL_ASSIGN_OR_RETURN(attributes.precision, PrecisionOf(c));
  return c.Emit(Opcode::kDot, c.operands(), std::move(attributes));
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
  return c.Emit(Opcode::kDot, c.operands(), std::move(attributes));
}

}  // namespace shoal

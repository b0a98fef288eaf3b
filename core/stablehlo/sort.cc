#include "core/stablehlo/families.h"
#include "core/stablehlo/importer.h"

namespace shoal {

absl::Status ImportSort(OpImporter& c) {
  const size_t n = c.operands().size();
  if (n == 0) return c.Error("C1", "there are no operands");
  SHOAL_RETURN_IF_ERROR(c.Expect(n, static_cast<int>(n), 1));
  SHOAL_RETURN_IF_ERROR(c.ExpectArray(0));
  SortAttributes attributes;
  SHOAL_ASSIGN_OR_RETURN(attributes.dimension, c.IntOr("dimension", -1));
  if (attributes.dimension < 0) attributes.dimension += c.operand_shape(0).rank();
  SHOAL_ASSIGN_OR_RETURN(attributes.is_stable, c.BoolOr("is_stable", false));
  SHOAL_ASSIGN_OR_RETURN(Computation * comparator, c.Body(0, "compare"));
  return c.Emit(Opcode::kSort, c.operands(), attributes, {comparator});
}

// Values and indices. `largest` may stand in a dictionary of attributes of the custom call that it once was.
absl::Status ImportTopK(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(1, 2));
  TopKAttributes attributes;
  SHOAL_ASSIGN_OR_RETURN(attributes.k, c.Int("k"));
  SHOAL_ASSIGN_OR_RETURN(attributes.largest, c.BoolOr("largest", true));
  return c.Emit(Opcode::kTopK, c.operands(), attributes);
}

}  // namespace shoal

#include "core/stablehlo/families.h"
#include "core/stablehlo/importer.h"

namespace shoal {

// Inputs, then as many initial values. Where the region computes in a wider type than the inputs have, these
// are converted first.
absl::Status ImportReduce(OpImporter& c) {
  const size_t n = c.operands().size() / 2;
  if (n == 0) return c.Error("there are no operands");
  SHOAL_RETURN_IF_ERROR(c.Expect(2 * n, static_cast<int>(n), 1));
  SHOAL_ASSIGN_OR_RETURN(IntVector dimensions, c.Ints("dimensions"));
  std::vector<Instruction*> operands(c.operands().begin(), c.operands().end());
  for (size_t i = 0; i < n; ++i) {
    SHOAL_RETURN_IF_ERROR(c.ExpectArray(i));
    SHOAL_RETURN_IF_ERROR(c.ExpectArray(n + i));
    const ElementType wanted = c.operand_shape(n + i).element_type();
    if (c.operand_shape(i).element_type() == wanted) continue;
    operands[i] = c.Add(Opcode::kConvert, c.operand_shape(i).WithElementType(wanted), {operands[i]});
  }
  SHOAL_ASSIGN_OR_RETURN(Computation * body, c.Body(0, "reduce"));
  return c.Emit(Opcode::kReduce, operands, DimensionsAttributes{std::move(dimensions)}, {body});
}

}  // namespace shoal

#include "core/stablehlo/families.h"
#include "core/stablehlo/importer.h"
#include "core/stablehlo/promotion.h"

namespace shoal {

// Inputs, then as many initial values.
absl::Status ImportReduce(OpImporter& c) {
  const size_t n = c.operands().size() / 2;
  if (n == 0) return c.Error("C3", "there are no operands");
  SHOAL_RETURN_IF_ERROR(c.Expect(2 * n, static_cast<int>(n), 1));
  SHOAL_ASSIGN_OR_RETURN(IntVector dimensions, c.Ints("dimensions"));
  SHOAL_ASSIGN_OR_RETURN(Computation * body, c.Body(0, "reduce"));
  SHOAL_ASSIGN_OR_RETURN(std::vector<Instruction*> operands, PromotedOperands(c, *body, "C6"));
  return c.Emit(Opcode::kReduce, operands, DimensionsAttributes{std::move(dimensions)}, {body});
}

}  // namespace shoal

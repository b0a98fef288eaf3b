#include "absl/strings/str_cat.h"
#include "core/stablehlo/families.h"
#include "core/stablehlo/importer.h"

namespace shoal {

absl::Status ImportAfterAll(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(c.operands().size()));
  return c.Emit(Opcode::kAfterAll, c.operands());
}

// Between vhlo's and the builtin types, which are one here.
absl::Status ImportConversionCast(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(1));
  return c.Alias(c.operand(0));
}

absl::Status ImportIdentity(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(1));
  return c.Alias(c.operand(0));
}

absl::Status ImportGetTupleElement(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(1));
  SHOAL_ASSIGN_OR_RETURN(int64_t index, c.Int("index"));
  const Shape& tuple = c.operand_shape(0);
  if (!tuple.IsTuple() || index < 0 || index >= static_cast<int64_t>(tuple.elements().size())) {
    return c.Error("C1", absl::StrCat("element ", index, " of ", tuple.ToString()));
  }
  return c.Emit(Opcode::kGetTupleElement, c.operands(), TupleIndexAttributes{index});
}

absl::Status ImportOptimizationBarrier(OpImporter& c) {
  const size_t n = c.operands().size();
  SHOAL_RETURN_IF_ERROR(c.Expect(n, static_cast<int>(n)));
  if (n == 1) return c.Emit(Opcode::kOptimizationBarrier, c.operands());
  return c.Emit(Opcode::kOptimizationBarrier, {c.computation().AddTuple(c.operands())});
}

absl::Status ImportTuple(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(c.operands().size()));
  return c.Emit(Opcode::kTuple, c.operands());
}

}  // namespace shoal

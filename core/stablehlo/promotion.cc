#include "core/stablehlo/promotion.h"

#include "absl/strings/str_cat.h"

namespace shoal {

absl::StatusOr<Instruction*> PromotedOperand(OpImporter& c, size_t i, const Shape& result,
                                             absl::string_view label) {
  SHOAL_RETURN_IF_ERROR(c.ExpectArray(i));
  const ElementType from = c.operand_shape(i).element_type();
  if (!result.IsArray()) return c.Error(label, absl::StrCat("the region gives ", result.ToString()));
  const ElementType to = result.element_type();
  if (from == to) return c.operand(i);
  if (ClassOf(from) != ClassOf(to) || BitWidth(from) > BitWidth(to)) {
    return c.Error(label, absl::StrCat("operand ", i, " of ", ElementTypeName(from),
                                       " cannot be promoted to the region's ", result.ToString()));
  }
  return c.Add(Opcode::kConvert, c.operand_shape(i).WithElementType(to), {c.operand(i)});
}

absl::StatusOr<std::vector<Instruction*>> PromotedOperands(OpImporter& c, const Computation& body,
                                                           absl::string_view label) {
  const std::vector<Shape> results = body.root()->shape().Leaves();
  const size_t n = c.operands().size() / 2;
  if (results.size() != n) {
    return c.Error(label, absl::StrCat("the region gives ", results.size(), " values for ", n, " inputs"));
  }
  std::vector<Instruction*> operands;
  for (size_t i = 0; i < 2 * n; ++i) {
    SHOAL_ASSIGN_OR_RETURN(operands.emplace_back(), PromotedOperand(c, i, results[i % n], label));
  }
  return operands;
}

}  // namespace shoal

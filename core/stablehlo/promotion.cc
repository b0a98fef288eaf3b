#include "core/stablehlo/promotion.h"

#include "absl/strings/str_cat.h"

namespace shoal {
namespace {

const MlirType* ElementTypeOf(const MlirType& type) {
  return type.kind == MlirTypeKind::kTensor ? type.elements[0] : nullptr;
}

// Of quantised numbers: operand `i` and the region's result that stands for it express the same type.
absl::Status CheckExpressed(const OpImporter& c, size_t i, absl::string_view label) {
  const MlirOperation& op = c.op();
  if (op.regions.empty() || op.regions.back()->blocks.empty()) return absl::OkStatus();
  const std::vector<MlirOperation*>& body = op.regions.back()->blocks[0]->operations;
  const size_t results = body.empty() ? 0 : body.back()->operands.size();
  if (results == 0 || op.operands.size() < results) return absl::OkStatus();
  // Inputs come first, and as many initial values or updates last.
  const size_t k = results == 1 ? 0 : i < results ? i : i - (op.operands.size() - results);
  const MlirType *from = ElementTypeOf(*op.operands[i]->type),
                 *to = k < results ? ElementTypeOf(*body.back()->operands[k]->type) : nullptr;
  if (from == nullptr || to == nullptr) return absl::OkStatus();
  const MlirQuantization *given = from->quantization, *made = to->quantization;
  if (given == nullptr || made == nullptr || given->expressed == made->expressed) return absl::OkStatus();
  return c.Error(label, absl::StrCat("operand ", i, " stands for ", ElementTypeName(given->expressed),
                                     ", and what the region gives for ", ElementTypeName(made->expressed)));
}

}  // namespace

absl::StatusOr<Instruction*> PromotedOperand(OpImporter& c, size_t i, const Shape& result,
                                             absl::string_view label) {
  SHOAL_RETURN_IF_ERROR(c.ExpectArray(i));
  const ElementType from = c.operand_shape(i).element_type();
  if (!result.IsArray()) return c.Error(label, absl::StrCat("the region gives ", result.ToString()));
  const ElementType to = result.element_type();
  SHOAL_RETURN_IF_ERROR(CheckExpressed(c, i, label));
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

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/stablehlo/families.h"
#include "core/stablehlo/importer.h"

namespace shoal {

// HLO names these operations as StableHLO and CHLO do, with dashes.
absl::Status ImportElementwise(OpImporter& c) {
  const absl::string_view name = c.op().name.substr(c.op().name.find('.') + 1);
  absl::StatusOr<Opcode> opcode = ParseOpcode(absl::StrReplaceAll(name, {{"_", "-"}}));
  if (!opcode.ok()) return c.NotSupported("HLO has no such operation");
  SHOAL_RETURN_IF_ERROR(c.Expect(static_cast<size_t>(OpcodeArity(*opcode))));
  for (size_t i = 0; i < c.operands().size(); ++i) SHOAL_RETURN_IF_ERROR(c.ExpectArray(i));
  return c.Emit(*opcode, c.operands());
}

absl::Status ImportCompare(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(2));
  SHOAL_ASSIGN_OR_RETURN(absl::string_view direction, c.Text("comparison_direction"));
  SHOAL_ASSIGN_OR_RETURN(absl::string_view type, c.TextOr("compare_type", "NOTYPE"));
  CompareAttributes attributes;
  if (!ParseEnum(direction, attributes.direction)) return c.Error(absl::StrCat("the direction ", direction));
  attributes.total_order = type == "TOTALORDER";
  return c.Emit(Opcode::kCompare, c.operands(), attributes);
}

absl::Status ImportReducePrecision(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(1));
  ReducePrecisionAttributes attributes;
  SHOAL_ASSIGN_OR_RETURN(attributes.exponent_bits, c.Int("exponent_bits"));
  SHOAL_ASSIGN_OR_RETURN(attributes.mantissa_bits, c.Int("mantissa_bits"));
  return c.Emit(Opcode::kReducePrecision, c.operands(), attributes);
}

absl::Status ImportSquare(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(1));
  return c.Emit(Opcode::kMultiply, {c.operand(0), c.operand(0)});
}

// The region says what happens to one element: its elementwise operations are done on whole arrays instead.
absl::Status ImportMap(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(c.op().operands.size(), 1, 1));
  SHOAL_ASSIGN_OR_RETURN(Shape shape, c.ResultShape());
  SHOAL_ASSIGN_OR_RETURN(Computation * body, c.Body(0, "map"));
  if (body->parameters().size() != c.operands().size())
    return c.Error("operands and region arguments differ in number");
  absl::flat_hash_map<const Instruction*, Instruction*> whole;
  for (Instruction* scalar : body->instructions()) {
    std::vector<Instruction*> operands;
    for (Instruction* operand : scalar->operands()) operands.push_back(whole[operand]);
    if (scalar->opcode() == Opcode::kParameter) {
      whole[scalar] = c.operand(static_cast<size_t>(scalar->parameter_number()));
    } else if (scalar->opcode() == Opcode::kConstant) {
      Instruction* constant = c.computation().AddConstant(scalar->literal());
      whole[scalar] = c.Add(Opcode::kBroadcast, scalar->shape().WithDims(shape.dims()), {constant},
                            DimensionsAttributes{});
    } else if (FamilyOf(scalar->opcode()) == OpFamily::kElementwise) {
      whole[scalar] =
          c.Add(scalar->opcode(), scalar->shape().WithDims(shape.dims()), operands, scalar->attributes());
    } else {
      return c.NotSupported(absl::StrCat("the operation ", OpcodeName(scalar->opcode()), " in its region"));
    }
  }
  return c.Alias(whole[body->root()]);
}

}  // namespace shoal

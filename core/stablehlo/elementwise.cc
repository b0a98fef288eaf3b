#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "core/ops/map.h"
#include "core/stablehlo/families.h"
#include "core/stablehlo/importer.h"

namespace shoal {

namespace {

// Of a complex number the real part, also where the result is a truth value.
absl::Status EmitConvert(OpImporter& c) {
  SHOAL_ASSIGN_OR_RETURN(Shape shape, c.ResultShape());
  const Shape& from = c.operand_shape(0);
  Instruction* operand = c.operand(0);
  if (IsComplex(from.element_type()) && shape.IsArray() && !IsComplex(shape.element_type()))
    operand = c.Add(Opcode::kReal, from.WithElementType(RealPart(from.element_type())), {operand});
  return c.Emit(Opcode::kConvert, {operand});
}

// Every function here is within two units of its last place, whatever is asked for; but what is asked has to
// make sense.
absl::Status CheckAccuracy(const OpImporter& c) {
  const MlirAttribute* accuracy = c.Find("result_accuracy");
  const MlirAttribute* mode = accuracy == nullptr ? nullptr : accuracy->Find("mode");
  if (mode == nullptr || mode->text != "HIGHEST") return absl::OkStatus();
  for (absl::string_view name : {"atol", "rtol", "ulps"}) {
    const MlirAttribute* tolerance = accuracy->Find(name);
    if (tolerance != nullptr && (tolerance->number != 0 || tolerance->integer != 0))
      return c.Error(absl::StrCat("result_accuracy: ", name, " is not 0 where the mode is HIGHEST"));
  }
  return absl::OkStatus();
}

}  // namespace

// HLO names these operations as StableHLO and CHLO do, with dashes.
absl::Status ImportElementwise(OpImporter& c) {
  const absl::string_view name = c.op().name.substr(c.op().name.find('.') + 1);
  absl::StatusOr<Opcode> opcode = ParseOpcode(absl::StrReplaceAll(name, {{"_", "-"}}));
  if (!opcode.ok()) return c.NotSupported("HLO has no such operation");
  SHOAL_RETURN_IF_ERROR(c.Expect(static_cast<size_t>(OpcodeArity(*opcode))));
  for (size_t i = 0; i < c.operands().size(); ++i) SHOAL_RETURN_IF_ERROR(c.ExpectArray(i));
  SHOAL_RETURN_IF_ERROR(CheckAccuracy(c));
  return *opcode == Opcode::kConvert ? EmitConvert(c) : c.Emit(*opcode, c.operands());
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
    return c.Error("C4", "operands and region arguments differ in number");
  SHOAL_ASSIGN_OR_RETURN(IntVector dimensions, c.Ints("dimensions"));
  if (c.operands().empty()) return c.Error("C2", "there are no operands");
  for (size_t i = 0; i < c.operands().size(); ++i) {
    SHOAL_RETURN_IF_ERROR(c.ExpectArray(i));
    if (c.operand_shape(i).dims() != shape.dims())
      return c.Error("C1", absl::StrCat("operand ", i, " is ", c.operand_shape(i).ToString()));
    if (body->parameter(static_cast<int64_t>(i))->shape() != Shape::Scalar(c.operand_shape(i).element_type()))
      return c.Error("C4", absl::StrCat("the region's argument ", i, " is no scalar of its operand's type"));
  }
  for (size_t d = 0; d < dimensions.size(); ++d) {
    if (dimensions[d] != static_cast<int64_t>(d) || static_cast<int64_t>(dimensions.size()) != shape.rank())
      return c.Error("C3",
                     absl::StrCat("dimensions [", absl::StrJoin(dimensions, ","), "] of ", shape.ToString()));
  }
  if (body->root()->shape() != Shape::Scalar(shape.element_type()))
    return c.Error(
        "C4", absl::StrCat("the region gives ", body->root()->shape().ToString(), " for ", shape.ToString()));
  HloBuilder b(&c.computation());
  absl::StatusOr<Instruction*> result = Map(b, *body, c.operands());
  if (!result.ok()) return c.NotSupported(result.status().message());
  return c.Alias(*result);
}

}  // namespace shoal

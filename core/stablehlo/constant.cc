#include "absl/strings/str_cat.h"
#include "core/stablehlo/families.h"
#include "core/stablehlo/importer.h"

namespace shoal {
namespace {

// MLIR keeps narrow integers without their sign in the byte, and booleans as any bit pattern; Literal does
// not.
void Normalise(ElementType type, std::string* bytes) {
  const int width = BitWidth(type);
  if (type == ElementType::kPred) {
    for (char& c : *bytes) c = c != 0;
  } else if (width < 8 && IsInteger(type)) {
    for (char& c : *bytes) {
      const int shift = 8 - width;
      const auto high = static_cast<uint8_t>(static_cast<uint8_t>(c) << shift);
      c = IsSigned(type) ? static_cast<char>(static_cast<int8_t>(high) >> shift)
                         : static_cast<char>(high >> shift);
    }
  }
}

}  // namespace

absl::StatusOr<Literal> Importer::LiteralOf(const MlirAttribute& value, const Shape& shape) {
  auto it = literals_.find(&value);
  if (it != literals_.end()) return it->second;
  std::string bytes(value.data);
  Normalise(shape.element_type(), &bytes);
  const Shape scalar = Shape::Scalar(shape.element_type());
  SHOAL_ASSIGN_OR_RETURN(Literal literal, Literal::FromBytes(value.splat ? scalar : shape, std::move(bytes)));
  if (!value.splat && shape.ElementCount() > 1 && literal.IsSplat()) {
    const std::string first(literal.data(), static_cast<size_t>(ByteWidth(shape.element_type())));
    SHOAL_ASSIGN_OR_RETURN(literal, Literal::FromBytes(scalar, first));
  }
  return literals_.emplace(&value, std::move(literal)).first->second;
}

// A splat of more than one element is one scalar and its broadcast, so that no megabytes of equal numbers are
// made.
absl::Status ImportConstant(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(0));
  const MlirAttribute* value = c.Find("value");
  if (value == nullptr) return c.Error("the value is missing");
  const bool dense = value->kind == MlirAttributeKind::kDenseElements;
  if (!dense && value->kind != MlirAttributeKind::kResource) return c.Error("the value is not an array");
  SHOAL_ASSIGN_OR_RETURN(Shape shape, c.ResultShape());
  if (!shape.IsArray()) return c.Error("the result is not an array");
  if (value->type == nullptr || ShapeOf(*value->type).value_or(Shape()) != shape) {
    return c.Error(absl::StrCat("the value and the result ", shape.ToString(), " differ in type"));
  }
  absl::StatusOr<Literal> literal = c.importer().LiteralOf(*value, shape);
  if (!literal.ok()) return c.Error(literal.status().message());
  const Shape stored = literal->shape();
  Instruction* constant = c.Add(Opcode::kConstant, stored, {}, ConstantAttributes{*std::move(literal)});
  if (stored == shape) return c.Finish(constant);
  return c.Emit(Opcode::kBroadcast, {constant}, DimensionsAttributes{});
}

absl::Status ImportIota(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(0));
  SHOAL_ASSIGN_OR_RETURN(int64_t dimension, c.Int("iota_dimension"));
  return c.Emit(Opcode::kIota, {}, DimensionsAttributes{{dimension}});
}

// The operand is the shape of the result, which the type gives too once it is known.
absl::Status ImportDynamicIota(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(1));
  SHOAL_RETURN_IF_ERROR(CheckSizesOperand(c, 0, "C2"));
  SHOAL_ASSIGN_OR_RETURN(int64_t dimension, c.Int("iota_dimension"));
  return c.Emit(Opcode::kIota, {}, DimensionsAttributes{{dimension}});
}

// Sizes are static, so it is a number.
absl::Status ImportGetDimensionSize(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(1));
  SHOAL_ASSIGN_OR_RETURN(int64_t dimension, c.Int("dimension"));
  SHOAL_RETURN_IF_ERROR(c.ExpectArray(0));
  if (dimension < 0 || dimension >= c.operand_shape(0).rank())
    return c.Error("C1", absl::StrCat("dimension ", dimension));
  const auto size = static_cast<int32_t>(c.operand_shape(0).dim(dimension));
  return c.Alias(c.computation().AddConstant(Literal::Scalar(ElementType::kS32, size)));
}

}  // namespace shoal

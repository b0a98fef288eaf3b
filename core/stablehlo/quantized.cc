#include "core/stablehlo/quantized.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/ops/builder.h"
#include "core/stablehlo/families.h"

namespace shoal {
namespace {

// Operations that move elements of any type, have regions, or say themselves what they do with quantised
// types.
constexpr absl::string_view kAnyType[] = {
    "func.call",
    "func.return",
    "sdy.reshard",
    "sdy.return",
    "sdy.sharding_constraint",
    "stablehlo.all_gather",
    "stablehlo.all_reduce",
    "stablehlo.all_to_all",
    "stablehlo.bitcast_convert",
    "stablehlo.broadcast",
    "stablehlo.broadcast_in_dim",
    "stablehlo.case",
    "stablehlo.collective_broadcast",
    "stablehlo.collective_permute",
    "stablehlo.composite",
    "stablehlo.concatenate",
    "stablehlo.constant",
    "stablehlo.custom_call",
    "stablehlo.dynamic_broadcast_in_dim",
    "stablehlo.dynamic_gather",
    "stablehlo.dynamic_pad",
    "stablehlo.dynamic_reshape",
    "stablehlo.dynamic_slice",
    "stablehlo.dynamic_update_slice",
    "stablehlo.gather",
    "stablehlo.get_dimension_size",
    "stablehlo.get_tuple_element",
    "stablehlo.if",
    "stablehlo.infeed",
    "stablehlo.map",
    "stablehlo.optimization_barrier",
    "stablehlo.outfeed",
    "stablehlo.pad",
    "stablehlo.real_dynamic_slice",
    "stablehlo.recv",
    "stablehlo.reduce",
    "stablehlo.reduce_scatter",
    "stablehlo.reduce_window",
    "stablehlo.reshape",
    "stablehlo.return",
    "stablehlo.reverse",
    "stablehlo.scatter",
    "stablehlo.select_and_scatter",
    "stablehlo.send",
    "stablehlo.slice",
    "stablehlo.sort",
    "stablehlo.transpose",
    "stablehlo.tuple",
    "stablehlo.uniform_dequantize",
    "stablehlo.uniform_quantize",
    "stablehlo.while",
};

// The quantisation of a tensor's elements, or null.
const MlirQuantization* QuantizationOf(const MlirType& type) {
  return type.kind == MlirTypeKind::kTensor ? type.elements[0]->quantization : nullptr;
}

// A number for the whole tensor, or one for each index along the axis, as an array of these dimensions.
Instruction* Parameter(HloBuilder& b, ElementType type, const std::vector<double>& values,
                       const MlirQuantization& q, absl::Span<const int64_t> dims) {
  if (q.axis < 0) return b.Splat(Shape::Array(type, dims), values[0]);
  std::string bytes;
  for (double value : values) {
    const Literal scalar = ScalarLiteral(type, value);
    bytes.append(scalar.data(), scalar.size_bytes());
  }
  const Shape shape = Shape::Array(type, {static_cast<int64_t>(values.size())});
  return b.Broadcast(b.Constant(*Literal::FromBytes(shape, std::move(bytes))), dims, {q.axis});
}

absl::Status CheckAxis(const MlirType& type) {
  const MlirQuantization& q = *QuantizationOf(type);
  if (q.axis < 0) return absl::OkStatus();
  const auto axis = static_cast<size_t>(q.axis);
  if (axis < type.dims.size() && type.dims[axis] == static_cast<int64_t>(q.scales.size()))
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("C13: ", q.scales.size(), " scales along dimension ", q.axis, " of ", ToString(type)));
}

absl::StatusOr<Instruction*> Dequantize(HloBuilder& b, Instruction* x, const MlirType& type) {
  SHOAL_RETURN_IF_ERROR(CheckAxis(type));
  const MlirQuantization& q = *QuantizationOf(type);
  // Wide enough for the difference of any two numbers of the storage type.
  const ElementType wide = BitWidth(q.storage) < 32 ? ElementType::kS32 : ElementType::kS64;
  Instruction* shift = Parameter(b, wide, q.zero_points, q, x->shape().dims());
  Instruction* difference = b.Convert(b.Subtract(b.Convert(x, wide), shift), q.expressed);
  return b.Multiply(difference, Parameter(b, q.expressed, q.scales, q, x->shape().dims()));
}

absl::StatusOr<Instruction*> Quantize(HloBuilder& b, Instruction* x, const MlirType& type) {
  SHOAL_RETURN_IF_ERROR(CheckAxis(type));
  const MlirQuantization& q = *QuantizationOf(type);
  if (x->shape().element_type() != q.expressed)
    return absl::InvalidArgumentError(absl::StrCat(x->shape().ToString(), " cannot become ", ToString(type)));
  const absl::Span<const int64_t> dims = x->shape().dims();
  Instruction* scaled = b.Divide(x, Parameter(b, q.expressed, q.scales, q, dims));
  Instruction* shifted = b.Add(scaled, Parameter(b, q.expressed, q.zero_points, q, dims));
  Instruction* low = b.Scalar(q.expressed, q.storage_min);
  Instruction* high = b.Scalar(q.expressed, q.storage_max);
  Instruction* clamped = b.Op(Opcode::kClamp, {low, shifted, high});
  return b.Convert(b.Unary(Opcode::kRoundNearestEven, clamped), q.storage);
}

// The type with its elements in the expressed type.
const MlirType* Expressed(const MlirType* type, MlirModule& scratch) {
  const MlirQuantization* q = QuantizationOf(*type);
  if (q == nullptr) return type;
  MlirType* wide = scratch.NewType(MlirTypeKind::kTensor);
  wide->dims = type->dims;
  wide->elements.push_back(scratch.Scalar(q->expressed));
  return wide;
}

// What the specification asks of a sum of quantised numbers.
absl::Status CheckAdd(const MlirOperation& op) {
  if (op.operands.size() != 2 || op.results.size() != 1) return absl::OkStatus();  // as any other sum
  const MlirQuantization *lhs = QuantizationOf(*op.operands[0]->type),
                         *rhs = QuantizationOf(*op.operands[1]->type),
                         *sum = QuantizationOf(*op.results[0]->type);
  const auto error = [&](absl::string_view label, absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(
        op.name, " at byte ", op.offset, ": ", label, ": ", what, ", in ", ToString(*op.operands[0]->type),
        " + ", ToString(*op.operands[1]->type), " -> ", ToString(*op.results[0]->type)));
  };
  if (lhs == nullptr || rhs == nullptr || sum == nullptr)
    return error("C2", "some are quantised and some are not");
  if (lhs->storage != rhs->storage || lhs->storage != sum->storage)
    return error("C3", "storage types differ");
  if (lhs->expressed != rhs->expressed || lhs->expressed != sum->expressed)
    return error("C4", "expressed types differ");
  if ((lhs->axis >= 0 || rhs->axis >= 0) != (sum->axis >= 0))
    return error("C5", "the result is quantised along an axis, and no operand, or the other way");
  if (lhs->axis >= 0 && lhs->axis != sum->axis) return error("C6", "axes differ");
  if (rhs->axis >= 0 && rhs->axis != sum->axis) return error("C7", "axes differ");
  return absl::OkStatus();
}

}  // namespace

bool ComputesQuantized(const MlirOperation& op) {
  const auto quantized = [](const MlirValue* value) { return QuantizationOf(*value->type) != nullptr; };
  return (std::any_of(op.operands.begin(), op.operands.end(), quantized) ||
          std::any_of(op.results.begin(), op.results.end(), quantized)) &&
         !std::binary_search(std::begin(kAnyType), std::end(kAnyType), op.name);
}

absl::Status ImportDequantized(const MlirOperation& op, RegionImporter& region,
                               std::vector<Instruction*> operands, ImportFn import) {
  if (op.name == "stablehlo.add") SHOAL_RETURN_IF_ERROR(CheckAdd(op));
  HloBuilder b(&region.computation());
  MlirModule& scratch = region.importer().scratch();
  MlirOperation* wide = scratch.NewOperation();
  *wide = op;
  for (size_t i = 0; i < operands.size(); ++i) {
    const MlirType* type = op.operands[i]->type;
    if (QuantizationOf(*type) == nullptr) continue;
    SHOAL_ASSIGN_OR_RETURN(operands[i], Dequantize(b, operands[i], *type));
    wide->operands[i] = scratch.NewValue(Expressed(type, scratch), op.operands[i]->index);
  }
  for (MlirValue*& result : wide->results) {
    result = scratch.NewValue(Expressed(result->type, scratch), result->index);
    result->owner = wide;
  }
  SHOAL_RETURN_IF_ERROR(b.status());
  OpImporter context(wide, &region, std::move(operands));
  SHOAL_RETURN_IF_ERROR(import(context));
  for (size_t i = 0; i < op.results.size(); ++i) {
    SHOAL_ASSIGN_OR_RETURN(Instruction * result, region.Lookup(wide->results[i], op));
    if (QuantizationOf(*op.results[i]->type) != nullptr) {
      SHOAL_ASSIGN_OR_RETURN(result, Quantize(b, result, *op.results[i]->type));
    }
    region.Bind(op.results[i], result);
  }
  return b.status();
}

// Of a float, or of a number that is quantised otherwise.
absl::Status ImportUniformQuantize(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(1));
  const MlirType& from = *c.op().operands[0]->type;
  const MlirType& to = *c.op().results[0]->type;
  if (QuantizationOf(to) == nullptr) return c.Error("I1", absl::StrCat("the result is ", ToString(to)));
  HloBuilder b(&c.computation());
  Instruction* number = c.operand(0);
  if (QuantizationOf(from) != nullptr) {
    SHOAL_ASSIGN_OR_RETURN(number, Dequantize(b, number, from));
  }
  SHOAL_RETURN_IF_ERROR(c.ExpectArray(0));
  if (number->shape().element_type() != QuantizationOf(to)->expressed)
    return c.Error("C2", absl::StrCat(ToString(from), " is not of the expressed type of ", ToString(to)));
  SHOAL_ASSIGN_OR_RETURN(Instruction * result, Quantize(b, number, to));
  SHOAL_RETURN_IF_ERROR(b.status());
  return c.Alias(result);
}

absl::Status ImportUniformDequantize(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(1));
  const MlirType& from = *c.op().operands[0]->type;
  if (QuantizationOf(from) == nullptr) return c.Error("I1", absl::StrCat("the operand is ", ToString(from)));
  HloBuilder b(&c.computation());
  SHOAL_ASSIGN_OR_RETURN(Instruction * result, Dequantize(b, c.operand(0), from));
  SHOAL_RETURN_IF_ERROR(b.status());
  return c.Alias(result);
}

}  // namespace shoal

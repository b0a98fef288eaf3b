// The dynamic operations, once their sizes are known: shapes stand in the types, and the operands that say
// sizes, starts or padding are constants.
#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/ops/builder.h"
#include "core/stablehlo/families.h"
#include "core/stablehlo/importer.h"

namespace shoal {
namespace {

// The integers that operand `i` holds.
absl::StatusOr<IntVector> ConstantOperand(const OpImporter& c, size_t i) {
  SHOAL_RETURN_IF_ERROR(c.ExpectArray(i));
  const Shape& shape = c.operand_shape(i);
  const Instruction* value = c.operand(i);
  while (value->opcode() == Opcode::kReshape || value->opcode() == Opcode::kBroadcast ||
         value->opcode() == Opcode::kConvert) {
    if (value->opcode() == Opcode::kBroadcast && !value->operand(0)->shape().IsScalar()) break;
    value = value->operand(0);
  }
  if (value->opcode() != Opcode::kConstant || !IsInteger(value->shape().element_type())) {
    return c.NotSupported(absl::StrCat("operand ", i,
                                       " is computed: Shoal wants sizes that are constant when a "
                                       "program is compiled (jax.export's refinement makes them so)"));
  }
  const Literal& literal = value->literal();
  const int64_t count = shape.ElementCount(), stored = value->shape().ElementCount();
  const int width = ByteWidth(value->shape().element_type());
  IntVector numbers;
  for (int64_t k = 0; k < count; ++k) {
    int64_t number = 0;
    std::memcpy(&number, literal.data() + (stored == 1 ? 0 : k) * width, static_cast<size_t>(width));
    if (IsSigned(value->shape().element_type()) && width < 8) {
      const int shift = 64 - 8 * width;
      number = static_cast<int64_t>(static_cast<uint64_t>(number) << shift) >> shift;
    }
    numbers.push_back(number);
  }
  return numbers;
}

// The window of operand 0 that begins at operand 1.
absl::Status EmitWindow(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.ExpectArray(1));
  SHOAL_ASSIGN_OR_RETURN(Shape window, c.ResultShape());
  const Shape& starts = c.operand_shape(1);
  const int64_t rank = c.operand_shape(0).rank();
  if (starts.rank() != 1 || starts.dim(0) != rank || !window.IsArray() || window.rank() != rank)
    return c.Error("C2", absl::StrCat("starts ", starts.ToString(), " for ", c.operand_shape(0).ToString()));
  HloBuilder b(&c.computation());
  std::vector<Instruction*> scalars;
  for (int64_t d = 0; d < rank; ++d)
    scalars.push_back(b.Reshape(b.SliceInDim(c.operand(1), 0, d, d + 1), {}));
  Instruction* slice =
      b.DynamicSlice(c.operand(0), scalars, IntVector(window.dims().begin(), window.dims().end()));
  SHOAL_RETURN_IF_ERROR(b.status());
  return c.Alias(slice);
}

}  // namespace

absl::Status CheckSizesOperand(const OpImporter& c, size_t i, absl::string_view label) {
  const absl::StatusOr<IntVector> sizes = ConstantOperand(c, i);
  if (absl::IsUnimplemented(sizes.status())) return absl::OkStatus();  // computed: the type is what is known
  SHOAL_RETURN_IF_ERROR(sizes.status());
  SHOAL_ASSIGN_OR_RETURN(Shape shape, c.ResultShape());
  if (shape.IsArray() && shape.dims() == absl::MakeConstSpan(*sizes)) return absl::OkStatus();
  return c.Error(label, absl::StrCat("the sizes [", absl::StrJoin(*sizes, ","), "] for ", shape.ToString()));
}

// operand, padding value, low, high, interior
absl::Status ImportDynamicPad(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(5));
  PadAttributes attributes;
  SHOAL_ASSIGN_OR_RETURN(attributes.low, ConstantOperand(c, 2));
  SHOAL_ASSIGN_OR_RETURN(attributes.high, ConstantOperand(c, 3));
  SHOAL_ASSIGN_OR_RETURN(attributes.interior, ConstantOperand(c, 4));
  return c.Emit(Opcode::kPad, c.operands().subspan(0, 2), std::move(attributes));
}

// operand, starts, limits, strides. Computed starts and limits are those of a window whose size the result
// has.
absl::Status ImportRealDynamicSlice(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(4));
  SHOAL_RETURN_IF_ERROR(c.ExpectArray(0));
  SliceAttributes attributes;
  SHOAL_ASSIGN_OR_RETURN(attributes.strides, ConstantOperand(c, 3));
  const absl::StatusOr<IntVector> starts = ConstantOperand(c, 1), limits = ConstantOperand(c, 2);
  const bool steps =
      std::any_of(attributes.strides.begin(), attributes.strides.end(), [](int64_t s) { return s != 1; });
  const bool computed = absl::IsUnimplemented(starts.status()) || absl::IsUnimplemented(limits.status());
  if (computed && !steps) return EmitWindow(c);
  SHOAL_RETURN_IF_ERROR(starts.status());
  SHOAL_RETURN_IF_ERROR(limits.status());
  attributes.starts = *starts;
  attributes.limits = *limits;
  return c.Emit(Opcode::kSlice, {c.operand(0)}, std::move(attributes));
}

// operand, start indices, slice sizes
absl::Status ImportDynamicGather(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(3));
  SHOAL_ASSIGN_OR_RETURN(IntVector sizes, ConstantOperand(c, 2));
  return EmitGather(c, std::move(sizes));
}

// lhs, rhs, padding: pairs, low and high
absl::Status ImportDynamicConv(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(3));
  SHOAL_ASSIGN_OR_RETURN(IntVector padding, ConstantOperand(c, 2));
  return EmitConvolution(c, &padding);
}

// The size is that of the array already.
absl::Status ImportSetDimensionSize(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(2));
  SHOAL_RETURN_IF_ERROR(c.ExpectArray(0));
  SHOAL_ASSIGN_OR_RETURN(int64_t dimension, c.Int("dimension"));
  if (dimension < 0 || dimension >= c.operand_shape(0).rank())
    return c.Error(absl::StrCat("dimension ", dimension));
  if (!c.operand_shape(1).IsArray() || c.operand_shape(1).rank() != 0)
    return c.Error("I2", absl::StrCat("a size of ", c.operand_shape(1).ToString(), " instead of a scalar"));
  SHOAL_ASSIGN_OR_RETURN(IntVector size, ConstantOperand(c, 1));
  if (size.size() != 1 || size[0] != c.operand_shape(0).dim(dimension)) {
    return c.NotSupported("an array of which only a part counts");
  }
  return c.Alias(c.operand(0));
}

}  // namespace shoal

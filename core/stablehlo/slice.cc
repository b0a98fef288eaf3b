#include "core/stablehlo/families.h"
#include "core/stablehlo/importer.h"

namespace shoal {

absl::Status ImportConcatenate(OpImporter& c) {
  if (c.operands().empty()) return c.Error("C3", "there are no operands");
  SHOAL_RETURN_IF_ERROR(c.Expect(c.operands().size()));
  SHOAL_ASSIGN_OR_RETURN(int64_t dimension, c.Int("dimension"));
  return c.Emit(Opcode::kConcatenate, c.operands(), DimensionsAttributes{{dimension}});
}

absl::Status ImportDynamicSlice(OpImporter& c) {
  if (c.operands().empty()) return c.Error("there are no operands");
  SHOAL_RETURN_IF_ERROR(c.Expect(c.operands().size()));
  SHOAL_ASSIGN_OR_RETURN(IntVector sizes, c.Ints("slice_sizes"));
  return c.Emit(Opcode::kDynamicSlice, c.operands(), DynamicSliceAttributes{std::move(sizes)});
}

absl::Status ImportDynamicUpdateSlice(OpImporter& c) {
  if (c.operands().size() < 2) return c.Error("fewer than two operands");
  SHOAL_RETURN_IF_ERROR(c.Expect(c.operands().size()));
  return c.Emit(Opcode::kDynamicUpdateSlice, c.operands());
}

absl::Status ImportPad(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(2));
  PadAttributes attributes;
  SHOAL_ASSIGN_OR_RETURN(attributes.low, c.Ints("edge_padding_low"));
  SHOAL_ASSIGN_OR_RETURN(attributes.high, c.Ints("edge_padding_high"));
  SHOAL_ASSIGN_OR_RETURN(attributes.interior, c.Ints("interior_padding"));
  return c.Emit(Opcode::kPad, c.operands(), std::move(attributes));
}

absl::Status ImportReverse(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(1));
  SHOAL_ASSIGN_OR_RETURN(IntVector dimensions, c.Ints("dimensions"));
  return c.Emit(Opcode::kReverse, c.operands(), DimensionsAttributes{std::move(dimensions)});
}

absl::Status ImportSlice(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(1));
  SliceAttributes attributes;
  SHOAL_ASSIGN_OR_RETURN(attributes.starts, c.Ints("start_indices"));
  SHOAL_ASSIGN_OR_RETURN(attributes.limits, c.Ints("limit_indices"));
  SHOAL_ASSIGN_OR_RETURN(attributes.strides, c.Ints("strides"));
  return c.Emit(Opcode::kSlice, c.operands(), std::move(attributes));
}

}  // namespace shoal

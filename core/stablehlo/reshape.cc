#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/stablehlo/families.h"
#include "core/stablehlo/importer.h"

namespace shoal {
namespace {

// HLO's broadcast only adds dimensions: those of size 1 that StableHLO expands are reshaped away first.
absl::Status EmitBroadcastInDim(OpImporter& c, absl::string_view size_label, absl::string_view range_label) {
  SHOAL_RETURN_IF_ERROR(c.ExpectArray(0));
  SHOAL_ASSIGN_OR_RETURN(IntVector dimensions, c.Ints("broadcast_dimensions"));
  SHOAL_ASSIGN_OR_RETURN(Shape shape, c.ResultShape());
  const Shape& from = c.operand_shape(0);
  if (static_cast<int64_t>(dimensions.size()) != from.rank()) {
    return c.Error(size_label,
                   absl::StrCat(dimensions.size(), " dimensions for an operand of rank ", from.rank()));
  }
  DimVector kept;
  IntVector kept_dimensions;
  for (int64_t i = 0; i < from.rank(); ++i) {
    const int64_t target = dimensions[i];
    if (target < 0 || !shape.IsArray() || target >= shape.rank())
      return c.Error(range_label, absl::StrCat("dimension ", target));
    if (from.dim(i) == 1 && shape.dim(target) != 1) continue;
    kept.push_back(from.dim(i));
    kept_dimensions.push_back(target);
  }
  Instruction* operand = c.operand(0);
  if (kept.size() != dimensions.size()) operand = c.Add(Opcode::kReshape, from.WithDims(kept), {operand});
  return c.Emit(Opcode::kBroadcast, {operand}, DimensionsAttributes{std::move(kept_dimensions)});
}

}  // namespace

absl::Status ImportBroadcastInDim(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(1));
  return EmitBroadcastInDim(c, "C2", "C3");
}

// Of the dynamic operations, the last operand is the shape of the result, which the type gives too once it is
// known.
absl::Status ImportDynamicBroadcastInDim(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(2));
  SHOAL_RETURN_IF_ERROR(CheckSizesOperand(c, 1, "C7"));
  return EmitBroadcastInDim(c, "C2", "C3");
}

absl::Status ImportDynamicReshape(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(2));
  SHOAL_RETURN_IF_ERROR(CheckSizesOperand(c, 1, "C4"));
  return c.Emit(Opcode::kReshape, {c.operand(0)});
}

// The older operation, which puts new dimensions in front.
absl::Status ImportBroadcast(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(1));
  SHOAL_RETURN_IF_ERROR(c.ExpectArray(0));
  SHOAL_ASSIGN_OR_RETURN(IntVector sizes, c.Ints("broadcast_sizes"));
  IntVector dimensions;
  for (int64_t i = 0; i < c.operand_shape(0).rank(); ++i)
    dimensions.push_back(static_cast<int64_t>(sizes.size()) + i);
  SHOAL_ASSIGN_OR_RETURN(Shape shape, c.ResultShape());
  const size_t rank = shape.IsArray() ? static_cast<size_t>(shape.rank()) : 0;
  if (rank < sizes.size() || shape.dims().subspan(0, sizes.size()) != absl::MakeConstSpan(sizes))
    return c.Error(absl::StrCat("broadcast_sizes [", absl::StrJoin(sizes, ","), "] for ", shape.ToString()));
  return c.Emit(Opcode::kBroadcast, c.operands(), DimensionsAttributes{std::move(dimensions)});
}

absl::Status ImportReshape(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(1));
  return c.Emit(Opcode::kReshape, c.operands());
}

absl::Status ImportTranspose(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(1));
  SHOAL_ASSIGN_OR_RETURN(IntVector permutation, c.Ints("permutation"));
  return c.Emit(Opcode::kTranspose, c.operands(), DimensionsAttributes{std::move(permutation)});
}

}  // namespace shoal

#include "absl/strings/str_cat.h"
#include "core/stablehlo/families.h"
#include "core/stablehlo/importer.h"
#include "core/stablehlo/promotion.h"

namespace shoal {

absl::Status EmitGather(OpImporter& c, IntVector slice_sizes) {
  GatherAttributes a;
  a.slice_sizes = std::move(slice_sizes);
  SHOAL_ASSIGN_OR_RETURN(a.offset_dims, c.IntsOr("offset_dims", 0, 0));
  SHOAL_ASSIGN_OR_RETURN(a.collapsed_slice_dims, c.IntsOr("collapsed_slice_dims", 0, 0));
  SHOAL_ASSIGN_OR_RETURN(a.start_index_map, c.IntsOr("start_index_map", 0, 0));
  SHOAL_ASSIGN_OR_RETURN(a.operand_batching_dims, c.IntsOr("operand_batching_dims", 0, 0));
  SHOAL_ASSIGN_OR_RETURN(a.start_indices_batching_dims, c.IntsOr("start_indices_batching_dims", 0, 0));
  SHOAL_ASSIGN_OR_RETURN(a.index_vector_dim, c.IntOr("index_vector_dim", 0));
  SHOAL_ASSIGN_OR_RETURN(a.indices_are_sorted, c.BoolOr("indices_are_sorted", false));
  return c.Emit(Opcode::kGather, c.operands().subspan(0, 2), std::move(a));
}

absl::Status ImportGather(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(2));
  SHOAL_ASSIGN_OR_RETURN(IntVector sizes, c.Ints("slice_sizes"));
  return EmitGather(c, std::move(sizes));
}

absl::Status ImportScatter(OpImporter& c) {
  const size_t n = c.operands().size() / 2;
  SHOAL_RETURN_IF_ERROR(c.Expect(2 * n + 1, static_cast<int>(n), 1));
  if (n == 0) return c.Error("C5", "there are no inputs");
  ScatterAttributes a;
  SHOAL_ASSIGN_OR_RETURN(a.update_window_dims, c.IntsOr("update_window_dims", 0, 0));
  SHOAL_ASSIGN_OR_RETURN(a.inserted_window_dims, c.IntsOr("inserted_window_dims", 0, 0));
  SHOAL_ASSIGN_OR_RETURN(a.scatter_dims_to_operand_dims, c.IntsOr("scatter_dims_to_operand_dims", 0, 0));
  SHOAL_ASSIGN_OR_RETURN(a.input_batching_dims, c.IntsOr("input_batching_dims", 0, 0));
  SHOAL_ASSIGN_OR_RETURN(a.scatter_indices_batching_dims, c.IntsOr("scatter_indices_batching_dims", 0, 0));
  SHOAL_ASSIGN_OR_RETURN(a.index_vector_dim, c.IntOr("index_vector_dim", 0));
  SHOAL_ASSIGN_OR_RETURN(a.indices_are_sorted, c.BoolOr("indices_are_sorted", false));
  SHOAL_ASSIGN_OR_RETURN(a.unique_indices, c.BoolOr("unique_indices", false));
  SHOAL_ASSIGN_OR_RETURN(Computation * body, c.Body(0, "scatter"));
  const std::vector<Shape> values = body->root()->shape().Leaves();
  if (values.size() != n)
    return c.Error("C23", absl::StrCat("the region gives ", values.size(), " values for ", n, " inputs"));
  std::vector<Instruction*> operands(c.operands().begin(), c.operands().end());
  for (size_t i = 0; i < n; ++i) {
    SHOAL_ASSIGN_OR_RETURN(operands[i], PromotedOperand(c, i, values[i], "C23"));
    SHOAL_ASSIGN_OR_RETURN(operands[n + 1 + i], PromotedOperand(c, n + 1 + i, values[i], "C23"));
  }
  return c.Emit(Opcode::kScatter, operands, std::move(a), {body});
}

}  // namespace shoal

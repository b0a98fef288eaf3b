#include "absl/strings/str_cat.h"
#include "core/stablehlo/families.h"
#include "core/stablehlo/importer.h"
#include "core/stablehlo/window.h"

namespace shoal {
namespace {

absl::StatusOr<IntVector> ListOf(const OpImporter& c, absl::string_view name, size_t count,
                                 int64_t otherwise) {
  if (name.empty()) return IntVector(count, otherwise);
  SHOAL_ASSIGN_OR_RETURN(IntVector list, c.IntsOr(name, count, otherwise));
  if (list.size() != count)
    return c.Error(absl::StrCat(name, " has ", list.size(), " entries instead of ", count));
  return list;
}

}  // namespace

absl::StatusOr<Window> WindowOf(const OpImporter& c, const IntVector& sizes, const WindowNames& names) {
  const size_t rank = sizes.size();
  SHOAL_ASSIGN_OR_RETURN(IntVector strides, ListOf(c, names.strides, rank, 1));
  SHOAL_ASSIGN_OR_RETURN(IntVector padding, ListOf(c, names.padding, 2 * rank, 0));
  SHOAL_ASSIGN_OR_RETURN(IntVector base, ListOf(c, names.base_dilations, rank, 1));
  SHOAL_ASSIGN_OR_RETURN(IntVector dilations, ListOf(c, names.window_dilations, rank, 1));
  SHOAL_ASSIGN_OR_RETURN(IntVector reversal, ListOf(c, names.reversal, rank, 0));
  Window window(rank);
  for (size_t i = 0; i < rank; ++i) {
    window[i] = {sizes[i], strides[i],   padding[2 * i],  padding[2 * i + 1],
                 base[i],  dilations[i], reversal[i] != 0};
  }
  return window;
}

absl::Status ImportReduceWindow(OpImporter& c) {
  const size_t n = c.operands().size() / 2;
  if (n == 0) return c.Error("there are no operands");
  SHOAL_RETURN_IF_ERROR(c.Expect(2 * n, static_cast<int>(n), 1));
  SHOAL_ASSIGN_OR_RETURN(IntVector sizes, c.Ints("window_dimensions"));
  WindowNames names;
  names.base_dilations = "base_dilations";
  names.window_dilations = "window_dilations";
  SHOAL_ASSIGN_OR_RETURN(Window window, WindowOf(c, sizes, names));
  SHOAL_ASSIGN_OR_RETURN(Computation * body, c.Body(0, "reduce_window"));
  return c.Emit(Opcode::kReduceWindow, c.operands(), WindowAttributes{std::move(window)}, {body});
}

absl::Status ImportSelectAndScatter(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(3, 1, 2));
  SHOAL_RETURN_IF_ERROR(c.ExpectArray(0));
  SHOAL_ASSIGN_OR_RETURN(IntVector sizes,
                         c.IntsOr("window_dimensions", static_cast<size_t>(c.operand_shape(0).rank()), 1));
  SHOAL_ASSIGN_OR_RETURN(Window window, WindowOf(c, sizes, WindowNames()));
  SHOAL_ASSIGN_OR_RETURN(Computation * select, c.Body(0, "select"));
  SHOAL_ASSIGN_OR_RETURN(Computation * scatter, c.Body(1, "scatter"));
  return c.Emit(Opcode::kSelectAndScatter, c.operands(), WindowAttributes{std::move(window)},
                {select, scatter});
}

}  // namespace shoal

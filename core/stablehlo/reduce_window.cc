#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/ops/builder.h"
#include "core/stablehlo/families.h"
#include "core/stablehlo/importer.h"
#include "core/stablehlo/promotion.h"
#include "core/stablehlo/window.h"

namespace shoal {
namespace {

absl::StatusOr<IntVector> ListOf(const OpImporter& c, const WindowList& list, size_t count,
                                 int64_t otherwise) {
  if (list.name.empty()) return IntVector(count, otherwise);
  SHOAL_ASSIGN_OR_RETURN(IntVector values, c.IntsOr(list.name, count, otherwise));
  if (values.size() != count) {
    return c.Error(list.label,
                   absl::StrCat(list.name, " has ", values.size(), " entries instead of ", count));
  }
  return values;
}

// Pairs: a constant of shape [count, 2].
absl::StatusOr<IntVector> PaddingOf(const OpImporter& c, const WindowList& list, size_t count) {
  const MlirAttribute* attribute = c.Find(list.name);
  if (attribute != nullptr && attribute->kind == MlirAttributeKind::kDenseElements &&
      attribute->type != nullptr) {
    const DimVector& dims = attribute->type->dims;
    if (dims.size() != 2 || dims[0] != static_cast<int64_t>(count) || dims[1] != 2) {
      return c.Error(list.label, absl::StrCat("padding of shape [", absl::StrJoin(dims, ","),
                                              "] instead of [", count, ",2]"));
    }
  }
  return ListOf(c, list, 2 * count, 0);
}

absl::StatusOr<IntVector> SizesOf(const OpImporter& c, size_t rank) {
  SHOAL_ASSIGN_OR_RETURN(IntVector sizes, c.IntsOr("window_dimensions", rank, 1));
  if (sizes.size() != rank)
    return c.Error("C4", absl::StrCat("window_dimensions has ", sizes.size(), " entries instead of ", rank));
  return sizes;
}

}  // namespace

absl::StatusOr<Window> WindowOf(const OpImporter& c, const IntVector& sizes, const WindowNames& names) {
  const size_t rank = sizes.size();
  SHOAL_ASSIGN_OR_RETURN(IntVector strides, ListOf(c, names.strides, rank, 1));
  SHOAL_ASSIGN_OR_RETURN(IntVector padding, PaddingOf(c, names.padding, rank));
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
  if (n == 0) return c.Error("C1", "there are no operands");
  SHOAL_RETURN_IF_ERROR(c.Expect(2 * n, static_cast<int>(n), 1));
  SHOAL_RETURN_IF_ERROR(c.ExpectArray(0));
  SHOAL_ASSIGN_OR_RETURN(IntVector sizes, SizesOf(c, static_cast<size_t>(c.operand_shape(0).rank())));
  WindowNames names;
  names.strides = {"window_strides", "C6"};
  names.padding = {"padding", "C12"};
  names.base_dilations = {"base_dilations", "C8"};
  names.window_dilations = {"window_dilations", "C10"};
  SHOAL_ASSIGN_OR_RETURN(Window window, WindowOf(c, sizes, names));
  SHOAL_ASSIGN_OR_RETURN(Computation * body, c.Body(0, "reduce_window"));
  SHOAL_ASSIGN_OR_RETURN(std::vector<Instruction*> operands, PromotedOperands(c, *body, "C13"));
  return c.Emit(Opcode::kReduceWindow, operands, WindowAttributes{std::move(window)}, {body});
}

namespace {

// `select`, for numbers of the operand's type that were made wider: it gets them as they were.
absl::StatusOr<Computation*> SelectOfWider(OpImporter& c, Computation& select, const Shape& wide) {
  Computation* wider = c.module().AddComputation("select_of_wider");
  HloBuilder b(wider);
  std::vector<Instruction*> arguments;
  for (int64_t i = 0; i < 2; ++i) {
    arguments.push_back(b.Convert(wider->AddParameter(i, wide, ""), c.operand_shape(0).element_type()));
  }
  wider->set_root(b.Call(&select, arguments));
  SHOAL_RETURN_IF_ERROR(b.status());
  return wider;
}

}  // namespace

absl::Status ImportSelectAndScatter(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(3, 1, 2));
  SHOAL_RETURN_IF_ERROR(c.ExpectArray(0));
  if (c.Find("window_dimensions") == nullptr) return c.Error("C4", "window_dimensions are missing");
  SHOAL_ASSIGN_OR_RETURN(IntVector sizes, SizesOf(c, static_cast<size_t>(c.operand_shape(0).rank())));
  WindowNames names;
  names.strides = {"window_strides", "C6"};
  names.padding = {"padding", "C8"};
  SHOAL_ASSIGN_OR_RETURN(Window window, WindowOf(c, sizes, names));
  SHOAL_ASSIGN_OR_RETURN(Computation * select, c.Body(0, "select"));
  SHOAL_ASSIGN_OR_RETURN(Computation * scatter, c.Body(1, "scatter"));
  std::vector<Instruction*> operands;
  for (size_t i = 0; i < 3; ++i) {
    SHOAL_ASSIGN_OR_RETURN(operands.emplace_back(), PromotedOperand(c, i, scatter->root()->shape(), "C10"));
  }
  if (operands[0] != c.operand(0)) {
    SHOAL_ASSIGN_OR_RETURN(select, SelectOfWider(c, *select, scatter->root()->shape()));
  }
  return c.Emit(Opcode::kSelectAndScatter, operands, WindowAttributes{std::move(window)}, {select, scatter});
}

}  // namespace shoal

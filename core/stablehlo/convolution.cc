#include "absl/strings/str_cat.h"
#include "core/stablehlo/families.h"
#include "core/stablehlo/importer.h"
#include "core/stablehlo/window.h"

namespace shoal {

absl::Status EmitConvolution(OpImporter& c, const IntVector* padding) {
  SHOAL_RETURN_IF_ERROR(c.ExpectArray(1));
  ConvolutionAttributes a;
  SHOAL_ASSIGN_OR_RETURN(a.input_batch, c.Int("input_batch_dimension"));
  SHOAL_ASSIGN_OR_RETURN(a.input_feature, c.Int("input_feature_dimension"));
  SHOAL_ASSIGN_OR_RETURN(a.input_spatial, c.Ints("input_spatial_dimensions"));
  SHOAL_ASSIGN_OR_RETURN(a.kernel_input_feature, c.Int("kernel_input_feature_dimension"));
  SHOAL_ASSIGN_OR_RETURN(a.kernel_output_feature, c.Int("kernel_output_feature_dimension"));
  SHOAL_ASSIGN_OR_RETURN(a.kernel_spatial, c.Ints("kernel_spatial_dimensions"));
  SHOAL_ASSIGN_OR_RETURN(a.output_batch, c.Int("output_batch_dimension"));
  SHOAL_ASSIGN_OR_RETURN(a.output_feature, c.Int("output_feature_dimension"));
  SHOAL_ASSIGN_OR_RETURN(a.output_spatial, c.Ints("output_spatial_dimensions"));
  SHOAL_ASSIGN_OR_RETURN(a.feature_group_count, c.IntOr("feature_group_count", 1));
  SHOAL_ASSIGN_OR_RETURN(a.batch_group_count, c.IntOr("batch_group_count", 1));
  if (const MlirAttribute* list = c.Find("precision_config"); list != nullptr && list->elements.size() > 2)
    return c.Error("C24", absl::StrCat(list->elements.size(), " precisions for two operands"));
  SHOAL_ASSIGN_OR_RETURN(a.precision, PrecisionOf(c));
  IntVector sizes;
  for (int64_t dim : a.kernel_spatial) {
    if (dim < 0 || dim >= c.operand_shape(1).rank())
      return c.Error("C18", absl::StrCat("kernel dimension ", dim));
    sizes.push_back(c.operand_shape(1).dim(dim));
  }
  WindowNames names;
  names.strides = {"window_strides", "C2"};
  names.padding = {padding == nullptr ? "padding" : "", "C4"};
  names.base_dilations = {"lhs_dilation", "C5"};
  names.window_dilations = {"rhs_dilation", "C7"};
  names.reversal = {"window_reversal", "C9"};
  SHOAL_ASSIGN_OR_RETURN(a.window, WindowOf(c, sizes, names));
  if (padding != nullptr) {
    if (padding->size() != 2 * sizes.size())
      return c.Error("C4",
                     absl::StrCat(padding->size(), " numbers of padding for ", sizes.size(), " dimensions"));
    for (size_t i = 0; i < sizes.size(); ++i) {
      a.window[i].padding_low = (*padding)[2 * i];
      a.window[i].padding_high = (*padding)[2 * i + 1];
    }
  }
  return c.Emit(Opcode::kConvolution, c.operands().subspan(0, 2), std::move(a));
}

absl::Status ImportConvolution(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(2));
  return EmitConvolution(c, nullptr);
}

}  // namespace shoal

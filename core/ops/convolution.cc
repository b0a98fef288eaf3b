// convolution.
#include "core/ops/op_check.h"
#include "core/ops/window.h"

namespace shoal {
namespace {

absl::Status CheckDimensions(const OpView& op, absl::string_view size_label, absl::string_view label,
                             absl::string_view what, int64_t first, const IntVector& spatial, int64_t second,
                             int64_t rank) {
  SHOAL_OP_CHECK(op, size_label, static_cast<int64_t>(spatial.size()) == rank - 2, spatial.size(),
                 " spatial ", what, " dimensions");
  const IntVector all = Concatenated(Concatenated({first}, spatial), {second});
  SHOAL_OP_CHECK(op, label, IsUnique(all) && InRange(all, rank), what, " dimensions ", ListText(all),
                 " are not a permutation");
  return absl::OkStatus();
}

absl::Status CheckGroups(const OpView& op, const ConvolutionAttributes& conv) {
  const Shape &lhs = op.shape(0), &rhs = op.shape(1);
  const int64_t features = lhs.dim(conv.input_feature), outputs = rhs.dim(conv.kernel_output_feature);
  const int64_t fgroups = conv.feature_group_count, bgroups = conv.batch_group_count;
  SHOAL_OP_CHECK(op, "C21", fgroups > 0, fgroups, " feature groups");
  SHOAL_OP_CHECK(op, "C22", bgroups > 0, bgroups, " batch groups");
  SHOAL_OP_CHECK(op, "C23", fgroups == 1 || bgroups == 1, "both feature and batch groups");
  SHOAL_OP_CHECK(op, "C10", lhs.dim(conv.input_batch) % bgroups == 0, "a batch of ",
                 lhs.dim(conv.input_batch), " in ", bgroups, " groups");
  SHOAL_OP_CHECK(op, "C11", features % fgroups == 0, features, " features in ", fgroups, " groups");
  SHOAL_OP_CHECK(op, "C14", rhs.dim(conv.kernel_input_feature) == features / fgroups, "the kernel has ",
                 rhs.dim(conv.kernel_input_feature), " input features, not ", features / fgroups);
  SHOAL_OP_CHECK(op, "C15", outputs % bgroups == 0, outputs, " output features in ", bgroups,
                 " batch groups");
  SHOAL_OP_CHECK(op, "C16", outputs % fgroups == 0, outputs, " output features in ", fgroups,
                 " feature groups");
  return absl::OkStatus();
}

}  // namespace

template <>
absl::StatusOr<Shape> InferFamilyShape<OpFamily::kConvolutionFamily>(const OpView& op) {
  SHOAL_RETURN_IF_ERROR(CheckArrays(op));
  const ConvolutionAttributes& conv = op.attributes_as<ConvolutionAttributes>();
  const Shape &lhs = op.shape(0), &rhs = op.shape(1);
  const int64_t rank = lhs.rank();
  SHOAL_OP_CHECK(op, "C1", rank == rhs.rank() && rank >= 2, "ranks ", rank, " and ", rhs.rank());
  SHOAL_OP_CHECK(op, "C2", static_cast<int64_t>(conv.window.size()) == rank - 2, "a window of ",
                 conv.window.size(), " dimensions");
  SHOAL_RETURN_IF_ERROR(CheckDimensions(op, "C12", "C13", "input", conv.input_batch, conv.input_spatial,
                                        conv.input_feature, rank));
  SHOAL_RETURN_IF_ERROR(CheckDimensions(op, "C17", "C18", "kernel", conv.kernel_input_feature,
                                        conv.kernel_spatial, conv.kernel_output_feature, rank));
  SHOAL_RETURN_IF_ERROR(CheckDimensions(op, "C19", "C20", "output", conv.output_batch, conv.output_spatial,
                                        conv.output_feature, rank));
  SHOAL_RETURN_IF_ERROR(CheckGroups(op, conv));
  const bool both_floats = IsFloat(lhs.element_type()) && IsFloat(rhs.element_type());
  SHOAL_OP_CHECK(op, "C27", lhs.element_type() == rhs.element_type() || both_floats, "element types differ");
  DimVector dims(rank);
  dims[conv.output_batch] = lhs.dim(conv.input_batch) / conv.batch_group_count;
  dims[conv.output_feature] = rhs.dim(conv.kernel_output_feature);
  for (int64_t i = 0; i < rank - 2; ++i) {
    const WindowDimension& w = conv.window[i];
    SHOAL_RETURN_IF_ERROR(CheckWindowDimension(op, w, {"C3", "C6", "C8"}));
    SHOAL_OP_CHECK(op, "H1", w.size == rhs.dim(conv.kernel_spatial[i]), "the window's size ", w.size,
                   " is not the kernel's");
    dims[conv.output_spatial[i]] = WindowPositions(lhs.dim(conv.input_spatial[i]), w);
  }
  const bool typed = op.wanted != nullptr && op.wanted->IsArray();
  return Shape::Array(typed ? op.wanted->element_type() : lhs.element_type(), dims);
}

}  // namespace shoal

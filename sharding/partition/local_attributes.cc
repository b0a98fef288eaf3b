// What changes in an instruction's attributes when its arrays become local: sizes that repeat a dimension's.
#include "sharding/partition/region.h"

namespace shoal {
namespace {

SliceAttributes LocalSlice(const Instruction& old, const Shape& operand, const Shape& result) {
  SliceAttributes slice = old.attributes<SliceAttributes>();
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (result.dim(d) != old.shape().dim(d)) slice.limits[d] = operand.dim(d);
  }
  return slice;
}

GatherAttributes LocalGather(const Instruction& old, const Shape& operand) {
  GatherAttributes gather = old.attributes<GatherAttributes>();
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (gather.slice_sizes[d] == old.operand(0)->shape().dim(d)) gather.slice_sizes[d] = operand.dim(d);
  }
  return gather;
}

// As many groups as the local input has: what is left where they do not divide is padding, in whole groups.
ConvolutionAttributes LocalConvolution(const Instruction& old, const Shape& input, const Shape& kernel) {
  ConvolutionAttributes conv = old.attributes<ConvolutionAttributes>();
  if (conv.feature_group_count > 1 && input.dim(conv.input_feature) > 0) {
    conv.feature_group_count = input.dim(conv.input_feature) / kernel.dim(conv.kernel_input_feature);
  }
  for (size_t i = 0; i < conv.window.size(); ++i) conv.window[i].size = kernel.dim(conv.kernel_spatial[i]);
  return conv;
}

}  // namespace

Attributes LocalAttributes(const Instruction& old, absl::Span<const Shape> local_operands,
                           absl::Span<const Shape> local_results) {
  switch (old.opcode()) {
    case Opcode::kSlice:
      return LocalSlice(old, local_operands[0], local_results[0]);
    case Opcode::kDynamicSlice:
      return DynamicSliceAttributes{
          IntVector(local_results[0].dims().begin(), local_results[0].dims().end())};
    case Opcode::kGather:
      return LocalGather(old, local_operands[0]);
    case Opcode::kConvolution:
      return LocalConvolution(old, local_operands[0], local_operands[1]);
    default:
      return old.attributes();
  }
}

}  // namespace shoal

// Elements of gather. (scatter.cc: scatter.)
#include <algorithm>

#include "core/base/status.h"
#include "core/codegen/element.h"

namespace shoal {
namespace {

bool Contains(absl::Span<const int64_t> list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

// Result dimensions are batch dimensions (the positions of index vectors) and offset dimensions (the position
// in the slice that an index vector starts). A start is clamped so that the whole slice lies inside.
absl::StatusOr<Element> EmitGather(ElementEmitter& e, const Instruction& op, const Digits& at) {
  const auto& g = op.attributes<GatherAttributes>();
  const Instruction &operand = *op.operand(0), &starts = *op.operand(1);
  IndexBuilder& index = e.index();
  LaneBuilder& lanes = e.lanes();
  std::vector<Index> batch, offset;
  for (int64_t d = 0; d < op.shape().rank(); ++d) {
    Index i = index.Dimension(at, op.shape(), d);
    (Contains(g.offset_dims, d) ? offset : batch).push_back(i);
  }
  auto starts_at = [&](int64_t component) {
    std::vector<Index> indices;
    size_t next = 0;
    for (int64_t d = 0; d < starts.shape().rank(); ++d) {
      indices.push_back(d == g.index_vector_dim ? index.Constant(component) : batch[next++]);
    }
    return index.FromDimensions(indices, starts.shape());
  };
  std::vector<Index> position(operand.shape().rank(), index.Constant(0));
  size_t next_offset = 0;
  for (int64_t d = 0; d < operand.shape().rank(); ++d) {
    if (Contains(g.collapsed_slice_dims, d) || Contains(g.operand_batching_dims, d)) continue;
    position[d] = offset[next_offset++];
  }
  for (size_t k = 0; k < g.operand_batching_dims.size(); ++k) {
    int64_t in_starts = g.start_indices_batching_dims[k];
    int64_t in_batch = in_starts - (g.index_vector_dim < in_starts ? 1 : 0);
    position[g.operand_batching_dims[k]] = batch[in_batch];
  }
  for (size_t k = 0; k < g.start_index_map.size(); ++k) {
    int64_t d = g.start_index_map[k];
    int64_t most = operand.shape().dim(d) - g.slice_sizes[d];
    SHOAL_ASSIGN_OR_RETURN(Element start, e.Emit(starts, starts_at(static_cast<int64_t>(k))));
    bool is_signed = IsSigned(starts.shape().element_type());
    llvm::Value* wide = e.b().CreateIntCast(start.re, lanes.LikeLanes(start.re, lanes.i64()), is_signed);
    if (is_signed) wide = lanes.Intrinsic(llvm::Intrinsic::smax, wide, lanes.I64(0));
    wide = lanes.Intrinsic(llvm::Intrinsic::umin, wide, lanes.I64(most));
    position[d] = index.Add(position[d], index.FromLanes(wide));
  }
  return e.Emit(operand, index.FromDimensions(position, operand.shape()));
}

}  // namespace shoal

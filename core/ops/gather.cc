// gather, scatter.
#include <algorithm>

#include "core/ops/op_check.h"

namespace shoal {
namespace {

bool IsSorted(const IntVector& values) { return std::is_sorted(values.begin(), values.end()); }

int64_t IndexVectorSize(const Shape& indices, int64_t index_vector_dim) {
  return index_vector_dim < indices.rank() ? indices.dim(index_vector_dim) : 1;
}

// The indices' dimensions but the one of index vectors.
DimVector BatchSizes(const Shape& indices, int64_t index_vector_dim) {
  DimVector sizes;
  for (int64_t d = 0; d < indices.rank(); ++d) {
    if (d != index_vector_dim) sizes.push_back(indices.dim(d));
  }
  return sizes;
}

// `window` sizes at dimensions `window_dims` of the result, `batch` sizes at the others.
DimVector Combined(const DimVector& batch, const DimVector& window, const IntVector& window_dims) {
  DimVector dims(batch.size() + window.size());
  size_t next_window = 0, next_batch = 0;
  for (size_t d = 0; d < dims.size(); ++d)
    dims[d] = Contains(window_dims, static_cast<int64_t>(d)) ? window[next_window++] : batch[next_batch++];
  return dims;
}

absl::Status CheckGatherDims(const OpView& op, const GatherAttributes& g) {
  const Shape &operand = op.shape(0), &indices = op.shape(1);
  const int64_t rank = operand.rank();
  const int64_t kept = g.offset_dims.size() + g.collapsed_slice_dims.size() + g.operand_batching_dims.size();
  SHOAL_OP_CHECK(op, "C1", rank == kept, "offset, collapsed and batching dimensions are ", kept, ", not ",
                 rank);
  SHOAL_OP_CHECK(op, "C2", g.index_vector_dim >= 0 && g.index_vector_dim <= indices.rank(),
                 "index_vector_dim ", g.index_vector_dim);
  SHOAL_OP_CHECK(
      op, "C3",
      static_cast<int64_t>(g.start_index_map.size()) == IndexVectorSize(indices, g.index_vector_dim),
      "start_index_map ", ListText(g.start_index_map));
  SHOAL_OP_CHECK(op, "C4", IsUnique(g.offset_dims) && IsSorted(g.offset_dims), "offset_dims ",
                 ListText(g.offset_dims));
  SHOAL_OP_CHECK(op, "C6", IsUnique(Concatenated(g.collapsed_slice_dims, g.operand_batching_dims)),
                 "a dimension is collapsed or batching twice");
  SHOAL_OP_CHECK(op, "C7", IsSorted(g.collapsed_slice_dims), "collapsed_slice_dims ",
                 ListText(g.collapsed_slice_dims));
  SHOAL_OP_CHECK(op, "C8", InRange(g.collapsed_slice_dims, rank), "collapsed_slice_dims ",
                 ListText(g.collapsed_slice_dims));
  SHOAL_OP_CHECK(op, "C10", IsSorted(g.operand_batching_dims), "operand_batching_dims ",
                 ListText(g.operand_batching_dims));
  SHOAL_OP_CHECK(op, "C11", InRange(g.operand_batching_dims, rank), "operand_batching_dims ",
                 ListText(g.operand_batching_dims));
  SHOAL_OP_CHECK(op, "C13", IsUnique(g.start_indices_batching_dims), "start_indices_batching_dims ",
                 ListText(g.start_indices_batching_dims));
  SHOAL_OP_CHECK(op, "C14", InRange(g.start_indices_batching_dims, indices.rank()),
                 "start_indices_batching_dims ", ListText(g.start_indices_batching_dims));
  SHOAL_OP_CHECK(op, "C15", !Contains(g.start_indices_batching_dims, g.index_vector_dim),
                 "index_vector_dim is a batching dimension");
  SHOAL_OP_CHECK(op, "C16", g.operand_batching_dims.size() == g.start_indices_batching_dims.size(),
                 "batching dimensions ", ListText(g.operand_batching_dims), " and ",
                 ListText(g.start_indices_batching_dims));
  for (size_t i = 0; i < g.operand_batching_dims.size(); ++i) {
    SHOAL_OP_CHECK(op, "C17",
                   operand.dim(g.operand_batching_dims[i]) == indices.dim(g.start_indices_batching_dims[i]),
                   "batching dimensions differ in size");
  }
  SHOAL_OP_CHECK(op, "C18", IsUnique(Concatenated(g.start_index_map, g.operand_batching_dims)),
                 "a dimension is indexed or batching twice");
  SHOAL_OP_CHECK(op, "C19", InRange(g.start_index_map, rank), "start_index_map ",
                 ListText(g.start_index_map));
  return absl::OkStatus();
}

absl::StatusOr<Shape> GatherShape(const OpView& op) {
  const GatherAttributes& g = op.attributes_as<GatherAttributes>();
  const Shape &operand = op.shape(0), &indices = op.shape(1);
  SHOAL_OP_CHECK(op, "I2", IsInteger(indices.element_type()), "indices are not integers");
  SHOAL_RETURN_IF_ERROR(CheckGatherDims(op, g));
  SHOAL_OP_CHECK(op, "C20", static_cast<int64_t>(g.slice_sizes.size()) == operand.rank(), "slice_sizes ",
                 ListText(g.slice_sizes));
  DimVector window;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    const int64_t size = g.slice_sizes[d];
    SHOAL_OP_CHECK(op, "C21", size >= 0 && size <= operand.dim(d), "slice size ", size, " of dimension ", d);
    const bool collapsed = Contains(g.collapsed_slice_dims, d),
               batching = Contains(g.operand_batching_dims, d);
    SHOAL_OP_CHECK(op, "C9", !collapsed || size <= 1, "collapsed dimension ", d, " has slice size ", size);
    SHOAL_OP_CHECK(op, "C12", !batching || size <= 1, "batching dimension ", d, " has slice size ", size);
    if (!collapsed && !batching) window.push_back(size);
  }
  const DimVector batch = BatchSizes(indices, g.index_vector_dim);
  SHOAL_OP_CHECK(op, "C5", InRange(g.offset_dims, static_cast<int64_t>(batch.size() + window.size())),
                 "offset_dims ", ListText(g.offset_dims));
  return operand.WithDims(Combined(batch, window, g.offset_dims));
}

absl::Status CheckScatterDims(const OpView& op, const ScatterAttributes& s, const Shape& input,
                              const Shape& indices) {
  const int64_t rank = input.rank();
  const int64_t kept =
      s.update_window_dims.size() + s.inserted_window_dims.size() + s.input_batching_dims.size();
  SHOAL_OP_CHECK(op, "C2", rank == kept, "window, inserted and batching dimensions are ", kept, ", not ",
                 rank);
  SHOAL_OP_CHECK(op, "C7", IsUnique(s.update_window_dims) && IsSorted(s.update_window_dims),
                 "update_window_dims ", ListText(s.update_window_dims));
  SHOAL_OP_CHECK(op, "C9", IsUnique(Concatenated(s.inserted_window_dims, s.input_batching_dims)),
                 "a dimension is inserted or batching twice");
  SHOAL_OP_CHECK(op, "C10", IsSorted(s.inserted_window_dims), "inserted_window_dims ",
                 ListText(s.inserted_window_dims));
  SHOAL_OP_CHECK(op, "C11", InRange(s.inserted_window_dims, rank), "inserted_window_dims ",
                 ListText(s.inserted_window_dims));
  SHOAL_OP_CHECK(op, "C12", IsSorted(s.input_batching_dims), "input_batching_dims ",
                 ListText(s.input_batching_dims));
  SHOAL_OP_CHECK(op, "C13", InRange(s.input_batching_dims, rank), "input_batching_dims ",
                 ListText(s.input_batching_dims));
  SHOAL_OP_CHECK(op, "C14", IsUnique(s.scatter_indices_batching_dims), "scatter_indices_batching_dims ",
                 ListText(s.scatter_indices_batching_dims));
  SHOAL_OP_CHECK(op, "C15", InRange(s.scatter_indices_batching_dims, indices.rank()),
                 "scatter_indices_batching_dims ", ListText(s.scatter_indices_batching_dims));
  SHOAL_OP_CHECK(op, "C16", !Contains(s.scatter_indices_batching_dims, s.index_vector_dim),
                 "index_vector_dim is a batching dimension");
  SHOAL_OP_CHECK(op, "C17", s.input_batching_dims.size() == s.scatter_indices_batching_dims.size(),
                 "batching dimensions ", ListText(s.input_batching_dims), " and ",
                 ListText(s.scatter_indices_batching_dims));
  for (size_t i = 0; i < s.input_batching_dims.size(); ++i) {
    SHOAL_OP_CHECK(op, "C18",
                   input.dim(s.input_batching_dims[i]) == indices.dim(s.scatter_indices_batching_dims[i]),
                   "batching dimensions differ in size");
  }
  SHOAL_OP_CHECK(op, "C22", s.index_vector_dim >= 0 && s.index_vector_dim <= indices.rank(),
                 "index_vector_dim ", s.index_vector_dim);
  SHOAL_OP_CHECK(op, "C19",
                 static_cast<int64_t>(s.scatter_dims_to_operand_dims.size()) ==
                     IndexVectorSize(indices, s.index_vector_dim),
                 "scatter_dims_to_operand_dims ", ListText(s.scatter_dims_to_operand_dims));
  SHOAL_OP_CHECK(op, "C20", IsUnique(Concatenated(s.scatter_dims_to_operand_dims, s.input_batching_dims)),
                 "a dimension is indexed or batching twice");
  SHOAL_OP_CHECK(op, "C21", InRange(s.scatter_dims_to_operand_dims, rank), "scatter_dims_to_operand_dims ",
                 ListText(s.scatter_dims_to_operand_dims));
  return absl::OkStatus();
}

// The updates' dimensions follow from the indices', but windows may be smaller than the input.
absl::Status CheckUpdates(const OpView& op, const ScatterAttributes& s, const Shape& input,
                          const Shape& indices, const Shape& update) {
  SHOAL_OP_CHECK(op, "C8", InRange(s.update_window_dims, update.rank()), "update_window_dims ",
                 ListText(s.update_window_dims));
  const DimVector batch = BatchSizes(indices, s.index_vector_dim);
  SHOAL_OP_CHECK(op, "C4", update.rank() == static_cast<int64_t>(batch.size() + s.update_window_dims.size()),
                 "updates of rank ", update.rank());
  DimVector window;
  for (int64_t d : s.update_window_dims) window.push_back(update.dim(d));
  SHOAL_OP_CHECK(op, "C4",
                 update.dims() == absl::MakeConstSpan(Combined(batch, window, s.update_window_dims)),
                 "updates are not one a scatter index");
  size_t next = 0;
  for (int64_t d = 0; d < input.rank(); ++d) {
    if (Contains(s.inserted_window_dims, d) || Contains(s.input_batching_dims, d)) continue;
    SHOAL_OP_CHECK(op, "C4", window[next] <= input.dim(d), "a window of size ", window[next],
                   " in dimension ", d);
    ++next;
  }
  return absl::OkStatus();
}

absl::StatusOr<Shape> ScatterShape(const OpView& op) {
  const ScatterAttributes& s = op.attributes_as<ScatterAttributes>();
  SHOAL_OP_CHECK(op, "C5", op.operand_count() >= 3 && op.operand_count() % 2 == 1, op.operand_count(),
                 " operands");
  const int64_t n = op.operand_count() / 2;
  const Shape &input = op.shape(0), &indices = op.shape(n), &update = op.shape(n + 1);
  SHOAL_OP_CHECK(op, "I2", IsInteger(indices.element_type()), "indices are not integers");
  for (int64_t i = 0; i < n; ++i) {
    SHOAL_OP_CHECK(op, "C1", op.shape(i).dims() == input.dims(), "the inputs' dimensions differ");
    SHOAL_OP_CHECK(op, "C3", op.shape(n + 1 + i).dims() == update.dims(), "the updates' dimensions differ");
    SHOAL_OP_CHECK(op, "C6", op.shape(i).element_type() == op.shape(n + 1 + i).element_type(),
                   "element types differ");
  }
  SHOAL_RETURN_IF_ERROR(CheckScatterDims(op, s, input, indices));
  SHOAL_RETURN_IF_ERROR(CheckUpdates(op, s, input, indices, update));
  SHOAL_ASSIGN_OR_RETURN(std::vector<ElementType> types, ReductionTypes(op, "C23", 0, n));
  std::vector<Shape> results;
  for (ElementType type : types) results.push_back(input.WithElementType(type));
  return OneOrTuple(std::move(results));
}

}  // namespace

template <>
absl::StatusOr<Shape> InferFamilyShape<OpFamily::kGatherFamily>(const OpView& op) {
  SHOAL_RETURN_IF_ERROR(CheckArrays(op));
  return op.opcode == Opcode::kGather ? GatherShape(op) : ScatterShape(op);
}

}  // namespace shoal

// concatenate, dynamic-slice, dynamic-update-slice, pad, reverse, slice.
#include <algorithm>

#include "core/ops/op_check.h"

namespace shoal {
namespace {

absl::StatusOr<Shape> ConcatenateShape(const OpView& op) {
  SHOAL_OP_CHECK(op, "C3", op.operand_count() > 0, "nothing to concatenate");
  const Shape& first = op.shape(0);
  const IntVector& dimensions = op.attributes_as<DimensionsAttributes>().dimensions;
  SHOAL_OP_CHECK(op, "C4", dimensions.size() == 1 && InRange(dimensions, first.rank()), "dimension ",
                 ListText(dimensions));
  const int64_t along = dimensions[0];
  DimVector dims(first.dims().begin(), first.dims().end());
  for (int64_t i = 1; i < op.operand_count(); ++i) {
    const Shape& other = op.shape(i);
    SHOAL_OP_CHECK(op, "C1", other.element_type() == first.element_type(), "element types differ");
    SHOAL_OP_CHECK(op, "C2", other.rank() == first.rank(), "ranks differ");
    for (int64_t d = 0; d < first.rank(); ++d)
      SHOAL_OP_CHECK(op, "C2", d == along || other.dim(d) == first.dim(d), "dimension ", d, " differs");
    SHOAL_OP_CHECK(op, "H1", !__builtin_add_overflow(dims[along], other.dim(along), &dims[along]),
                   "overflow");
  }
  return first.WithDims(dims);
}

// Operands from `first` on are scalar integers, one a dimension.
absl::Status CheckStarts(const OpView& op, int64_t first, absl::string_view count_label,
                         absl::string_view same_label) {
  SHOAL_OP_CHECK(op, count_label, op.operand_count() - first == op.shape(0).rank(),
                 op.operand_count() - first, " start indices");
  for (int64_t i = first; i < op.operand_count(); ++i) {
    SHOAL_OP_CHECK(op, "I2", op.shape(i).IsScalar() && IsInteger(op.shape(i).element_type()), "start index ",
                   i - first, " is not a scalar integer");
    SHOAL_OP_CHECK(op, same_label, op.shape(i) == op.shape(first), "the start indices' types differ");
  }
  return absl::OkStatus();
}

absl::StatusOr<Shape> DynamicSliceShape(const OpView& op) {
  SHOAL_OP_CHECK(op, "I1", op.operand_count() >= 1, "no operand");
  const IntVector& sizes = op.attributes_as<DynamicSliceAttributes>().dynamic_slice_sizes;
  const Shape& operand = op.shape(0);
  SHOAL_OP_CHECK(op, "C2", static_cast<int64_t>(sizes.size()) == operand.rank(), "sizes ", ListText(sizes));
  SHOAL_RETURN_IF_ERROR(CheckStarts(op, 1, "C2", "C3"));
  for (int64_t d = 0; d < operand.rank(); ++d)
    SHOAL_OP_CHECK(op, "C4", sizes[d] >= 0 && sizes[d] <= operand.dim(d), "size ", sizes[d], " of dimension ",
                   d);
  return operand.WithDims(sizes);
}

absl::StatusOr<Shape> DynamicUpdateSliceShape(const OpView& op) {
  SHOAL_OP_CHECK(op, "I1", op.operand_count() >= 2, "no update");
  const Shape &operand = op.shape(0), &update = op.shape(1);
  SHOAL_OP_CHECK(op, "C2", operand.element_type() == update.element_type(), "element types differ");
  SHOAL_OP_CHECK(op, "C3", operand.rank() == update.rank(), "ranks differ");
  SHOAL_RETURN_IF_ERROR(CheckStarts(op, 2, "C4", "C5"));
  for (int64_t d = 0; d < operand.rank(); ++d)
    SHOAL_OP_CHECK(op, "C6", update.dim(d) <= operand.dim(d), "the update is bigger in dimension ", d);
  return operand;
}

absl::StatusOr<Shape> PadShape(const OpView& op) {
  const PadAttributes& pad = op.attributes_as<PadAttributes>();
  const Shape &operand = op.shape(0), &value = op.shape(1);
  const size_t rank = static_cast<size_t>(operand.rank());
  SHOAL_OP_CHECK(op, "C1", value.IsScalar() && value.element_type() == operand.element_type(),
                 "the padding value is not a scalar of the operand's element type");
  SHOAL_OP_CHECK(op, "C2", pad.low.size() == rank && pad.high.size() == rank && pad.interior.size() == rank,
                 "paddings ", ListText(pad.low), ", ", ListText(pad.high), ", ", ListText(pad.interior));
  DimVector dims;
  for (size_t d = 0; d < rank; ++d) {
    SHOAL_OP_CHECK(op, "C3", pad.interior[d] >= 0, "interior padding ", pad.interior[d]);
    const __int128 size = static_cast<__int128>(operand.dim(d)) + pad.low[d] + pad.high[d] +
                          static_cast<__int128>(std::max<int64_t>(operand.dim(d) - 1, 0)) * pad.interior[d];
    SHOAL_OP_CHECK(op, "C4", size >= 0 && size <= int64_t{1} << 62, "dimension ", d,
                   " becomes negative or too big");
    dims.push_back(static_cast<int64_t>(size));
  }
  return operand.WithDims(dims);
}

absl::StatusOr<Shape> ReverseShape(const OpView& op) {
  const IntVector& dimensions = op.attributes_as<DimensionsAttributes>().dimensions;
  SHOAL_OP_CHECK(op, "C2", IsUnique(dimensions), "dimensions ", ListText(dimensions));
  SHOAL_OP_CHECK(op, "C3", InRange(dimensions, op.shape(0).rank()), "dimensions ", ListText(dimensions));
  return op.shape(0);
}

absl::StatusOr<Shape> SliceShape(const OpView& op) {
  const SliceAttributes& slice = op.attributes_as<SliceAttributes>();
  const Shape& operand = op.shape(0);
  const size_t rank = static_cast<size_t>(operand.rank());
  SHOAL_OP_CHECK(op, "C2",
                 slice.starts.size() == rank && slice.limits.size() == rank && slice.strides.size() == rank,
                 "starts ", ListText(slice.starts), ", limits ", ListText(slice.limits), ", strides ",
                 ListText(slice.strides));
  DimVector dims;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t start = slice.starts[d], limit = slice.limits[d], stride = slice.strides[d];
    SHOAL_OP_CHECK(op, "C3", start >= 0 && start <= limit && limit <= operand.dim(d), "[", start, ":", limit,
                   "] of dimension ", d);
    SHOAL_OP_CHECK(op, "C4", stride > 0, "stride ", stride);
    dims.push_back((limit - start) / stride + ((limit - start) % stride != 0));
  }
  return operand.WithDims(dims);
}

}  // namespace

template <>
absl::StatusOr<Shape> InferFamilyShape<OpFamily::kSliceFamily>(const OpView& op) {
  SHOAL_RETURN_IF_ERROR(CheckArrays(op));
  switch (op.opcode) {
    case Opcode::kConcatenate:
      return ConcatenateShape(op);
    case Opcode::kDynamicSlice:
      return DynamicSliceShape(op);
    case Opcode::kDynamicUpdateSlice:
      return DynamicUpdateSliceShape(op);
    case Opcode::kPad:
      return PadShape(op);
    case Opcode::kReverse:
      return ReverseShape(op);
    default:
      return SliceShape(op);
  }
}

}  // namespace shoal

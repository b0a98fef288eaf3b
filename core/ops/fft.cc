// fft.
#include "core/ops/op_check.h"

namespace shoal {

template <>
absl::StatusOr<Shape> InferFamilyShape<OpFamily::kFftFamily>(const OpView& op) {
  SHOAL_RETURN_IF_ERROR(CheckArrays(op));
  const FftAttributes& fft = op.attributes_as<FftAttributes>();
  const Shape& operand = op.shape(0);
  const ElementType type = operand.element_type();
  const int64_t rank = operand.rank(), lengths = static_cast<int64_t>(fft.length.size());
  SHOAL_OP_CHECK(op, "C3", lengths >= 1 && lengths <= 3, lengths, " lengths");
  SHOAL_OP_CHECK(op, "C1", lengths <= rank, lengths, " lengths");
  const bool real_input = fft.type == FftType::kRfft;
  const bool right_type =
      real_input ? type == ElementType::kF32 || type == ElementType::kF64 : IsComplex(type);
  SHOAL_OP_CHECK(op, "C2", right_type, EnumName(fft.type), " of ", ElementTypeName(type));
  // All lengths but the last are those of the dimensions; the last is that of the real array or of both.
  DimVector dims(operand.dims().begin(), operand.dims().end());
  for (int64_t i = 0; i < lengths; ++i) {
    const int64_t d = rank - lengths + i, length = fft.length[i];
    const bool halved = fft.type == FftType::kIrfft && i + 1 == lengths;
    const int64_t expected = halved ? (length == 0 ? 0 : length / 2 + 1) : length;
    SHOAL_OP_CHECK(op, halved ? "C5" : "C4", length >= 0 && dims[d] == expected, "dimension ", d, " of size ",
                   dims[d], " for length ", length);
    if (halved) dims[d] = length;
  }
  if (real_input) dims[rank - 1] = dims[rank - 1] == 0 ? 0 : dims[rank - 1] / 2 + 1;
  ElementType result = type;
  if (real_input) result = type == ElementType::kF64 ? ElementType::kC128 : ElementType::kC64;
  if (fft.type == FftType::kIrfft) result = RealPart(type);
  return Shape::Array(result, dims);
}

}  // namespace shoal

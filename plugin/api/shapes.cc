#include "plugin/api/shapes.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status.h"
#include "plugin/client/strided_copy.h"

namespace shoal {
namespace {

struct TypePair {
  ElementType type;
  PJRT_Buffer_Type pjrt;
};

// PJRT has numbers of its own. Its one-bit integers and six-bit floats have no element type here.
constexpr TypePair kTypes[] = {
    {ElementType::kPred, PJRT_Buffer_Type_PRED},
    {ElementType::kS2, PJRT_Buffer_Type_S2},
    {ElementType::kS4, PJRT_Buffer_Type_S4},
    {ElementType::kS8, PJRT_Buffer_Type_S8},
    {ElementType::kS16, PJRT_Buffer_Type_S16},
    {ElementType::kS32, PJRT_Buffer_Type_S32},
    {ElementType::kS64, PJRT_Buffer_Type_S64},
    {ElementType::kU2, PJRT_Buffer_Type_U2},
    {ElementType::kU4, PJRT_Buffer_Type_U4},
    {ElementType::kU8, PJRT_Buffer_Type_U8},
    {ElementType::kU16, PJRT_Buffer_Type_U16},
    {ElementType::kU32, PJRT_Buffer_Type_U32},
    {ElementType::kU64, PJRT_Buffer_Type_U64},
    {ElementType::kF4E2M1FN, PJRT_Buffer_Type_F4E2M1FN},
    {ElementType::kF8E3M4, PJRT_Buffer_Type_F8E3M4},
    {ElementType::kF8E4M3, PJRT_Buffer_Type_F8E4M3},
    {ElementType::kF8E4M3FN, PJRT_Buffer_Type_F8E4M3FN},
    {ElementType::kF8E4M3FNUZ, PJRT_Buffer_Type_F8E4M3FNUZ},
    {ElementType::kF8E4M3B11FNUZ, PJRT_Buffer_Type_F8E4M3B11FNUZ},
    {ElementType::kF8E5M2, PJRT_Buffer_Type_F8E5M2},
    {ElementType::kF8E5M2FNUZ, PJRT_Buffer_Type_F8E5M2FNUZ},
    {ElementType::kF8E8M0FNU, PJRT_Buffer_Type_F8E8M0FNU},
    {ElementType::kBF16, PJRT_Buffer_Type_BF16},
    {ElementType::kF16, PJRT_Buffer_Type_F16},
    {ElementType::kF32, PJRT_Buffer_Type_F32},
    {ElementType::kF64, PJRT_Buffer_Type_F64},
    {ElementType::kC64, PJRT_Buffer_Type_C64},
    {ElementType::kC128, PJRT_Buffer_Type_C128},
    {ElementType::kToken, PJRT_Buffer_Type_TOKEN},
};

// NumPy and JAX allow 64 dimensions at most.
constexpr int64_t kMostDims = 64;

}  // namespace

PJRT_Buffer_Type BufferTypeOf(ElementType type) {
  for (const TypePair& pair : kTypes) {
    if (pair.type == type) return pair.pjrt;
  }
  return PJRT_Buffer_Type_INVALID;
}

absl::StatusOr<ElementType> ElementTypeOf(PJRT_Buffer_Type type) {
  for (const TypePair& pair : kTypes) {
    if (pair.pjrt == type) return pair.type;
  }
  return absl::InvalidArgumentError(absl::StrCat("PJRT_Buffer_Type ", type, " is no element type of Shoal"));
}

absl::StatusOr<Shape> ShapeOf(PJRT_Buffer_Type type, const int64_t* dims, size_t num_dims) {
  SHOAL_ASSIGN_OR_RETURN(ElementType element_type, ElementTypeOf(type));
  if (element_type == ElementType::kToken) return absl::InvalidArgumentError("a token has no buffer");
  if (num_dims > kMostDims) {
    return absl::InvalidArgumentError(
        absl::StrCat("an array of ", num_dims, " dimensions; ", kMostDims, " are the most"));
  }
  absl::Span<const int64_t> span(dims, num_dims);
  SHOAL_RETURN_IF_ERROR(CheckedProduct(span, ByteWidth(element_type)).status());
  return Shape::Array(element_type, span);
}

absl::StatusOr<DimVector> HostByteStrides(const Shape& shape, const PJRT_Buffer_MemoryLayout* layout) {
  if (layout == nullptr) return RowMajorByteStrides(shape);
  if (layout->type == PJRT_Buffer_MemoryLayout_Type_Strides) {
    if (static_cast<int64_t>(layout->strides.num_byte_strides) != shape.rank()) {
      return absl::InvalidArgumentError(
          absl::StrCat(layout->strides.num_byte_strides, " strides for ", shape.ToString()));
    }
    return DimVector(layout->strides.byte_strides, layout->strides.byte_strides + shape.rank());
  }
  if (layout->tiled.num_tiles != 0) {
    return absl::UnimplementedError(
        absl::StrCat("a tiled layout of ", shape.ToString(), ": CPU arrays have no tiles"));
  }
  return ByteStridesOfLayout(
      shape, absl::Span<const int64_t>(layout->tiled.minor_to_major, layout->tiled.minor_to_major_size));
}

absl::Status CheckDeviceLayout(const Shape& shape, const PJRT_Buffer_MemoryLayout* layout) {
  SHOAL_ASSIGN_OR_RETURN(DimVector strides, HostByteStrides(shape, layout));
  if (IsDenseRowMajor(shape, strides)) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat("a device array ", shape.ToString(), " with byte strides ",
                                               absl::StrJoin(strides, ","),
                                               ": what comes from the host is row-major here"));
}

std::string LayoutText(const Shape& shape, absl::Span<const int64_t> minor_to_major) {
  if (minor_to_major.empty())
    minor_to_major = absl::Span<const int64_t>(DescendingDims(shape.rank()), shape.rank());
  return absl::StrCat("{", absl::StrJoin(minor_to_major, ","), "}");
}

const int64_t* DescendingDims(int64_t rank) {
  // The tail of one list serves every rank.
  static const std::array<int64_t, kMostDims> dims = [] {
    std::array<int64_t, kMostDims> list;
    for (int64_t i = 0; i < kMostDims; ++i) list[i] = kMostDims - 1 - i;
    return list;
  }();
  return dims.data() + kMostDims - rank;
}

}  // namespace shoal

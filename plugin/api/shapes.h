// Shapes, element types and layouts between the C API's form and ours.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "core/types/shape.h"
#include "plugin/api/api.h"

namespace shoal {

PJRT_Buffer_Type BufferTypeOf(ElementType type);
absl::StatusOr<ElementType> ElementTypeOf(PJRT_Buffer_Type type);
// InvalidArgument for negative or absurd dimensions and for types that Shoal has not.
absl::StatusOr<Shape> ShapeOf(PJRT_Buffer_Type type, const int64_t* dims, size_t num_dims);

// Strides of a host array laid out as `layout` (null: row-major). Tiles and strange layouts are
// Unimplemented.
absl::StatusOr<DimVector> HostByteStrides(const Shape& shape, const PJRT_Buffer_MemoryLayout* layout);
// What comes from the host is row-major on a device: OK if `layout` is null or means that.
absl::Status CheckDeviceLayout(const Shape& shape, const PJRT_Buffer_MemoryLayout* layout);
// The layout of an array on a device, as XLA writes it: "{1,0}". No list means row-major.
std::string LayoutText(const Shape& shape, absl::Span<const int64_t> minor_to_major);
// n-1, ..., 1, 0: lives as long as the process.
const int64_t* DescendingDims(int64_t rank);

}  // namespace shoal

// Copies between a host array of any strides and a dense one of a device: where bytes change their order
// outside of programs.
//
//   f32[2,3] in Fortran order has byte strides {4, 8}; its dense form has {12, 4}.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/types/shape.h"

namespace shoal {

// Up to here a copy is made on the thread that asks for it: handing it over costs more.
inline constexpr int64_t kInlineCopyBytes = int64_t{4} << 20;

// Bytes from one index to the next in each dimension of a dense array, its dimensions from minor to major as
// given. InvalidArgument if `minor_to_major` is not a permutation of the dimensions.
absl::StatusOr<DimVector> ByteStridesOfLayout(const Shape& shape, absl::Span<const int64_t> minor_to_major);
DimVector RowMajorByteStrides(const Shape& shape);
// Whether an array with these strides lies in memory like the dense row-major one; strides of dimensions of
// size 1 and of arrays without elements do not count.
bool IsDenseRowMajor(const Shape& shape, absl::Span<const int64_t> byte_strides);

// Copies all elements; neither array may overlap the other. In parallel on the arena if there is much to
// copy; so it must not be called where blocking a caller is wrong.
void CopyStrided(const Shape& shape, const char* source, absl::Span<const int64_t> source_strides,
                 char* target, absl::Span<const int64_t> target_strides);
// The same into a device's array, which is row-major. Truth values become 0 and 1, as kernels store them: a
// bool of NumPy that is a view of other memory may be any byte.
void CopyToDevice(const Shape& shape, const char* source, absl::Span<const int64_t> source_strides,
                  char* target);
// `bytes` dense bytes.
void CopyBytes(const char* source, char* target, int64_t bytes);

}  // namespace shoal

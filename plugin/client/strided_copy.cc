#include "plugin/client/strided_copy.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/tasks/arena.h"

namespace shoal {
namespace {

// One worker copies at least this much: below it, waking another costs more than it saves.
constexpr int64_t kGrainBytes = int64_t{1} << 20;

// A dimension of both arrays at once.
struct Loop {
  int64_t count;
  int64_t source_stride;
  int64_t target_stride;
};

// The loops of the copy, outermost first: ordered so that the target is written forwards, loops of one turn
// dropped, and neighbours joined where the outer one continues the inner one in both arrays.
absl::InlinedVector<Loop, 6> LoopsOf(const Shape& shape, absl::Span<const int64_t> source_strides,
                                     absl::Span<const int64_t> target_strides) {
  absl::InlinedVector<Loop, 6> loops;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (shape.dim(d) != 1) loops.push_back({shape.dim(d), source_strides[d], target_strides[d]});
  }
  std::sort(loops.begin(), loops.end(), [](const Loop& a, const Loop& b) {
    return std::abs(a.target_stride) > std::abs(b.target_stride);
  });
  absl::InlinedVector<Loop, 6> joined;
  for (const Loop& loop : loops) {
    if (!joined.empty() && joined.back().source_stride == loop.source_stride * loop.count &&
        joined.back().target_stride == loop.target_stride * loop.count) {
      joined.back() = {joined.back().count * loop.count, loop.source_stride, loop.target_stride};
    } else {
      joined.push_back(loop);
    }
  }
  return joined;
}

template <int kBytes>
void CopyRow(const char* source, char* target, const Loop& loop) {
  for (int64_t i = 0; i < loop.count; ++i) {
    std::memcpy(target, source, kBytes);
    source += loop.source_stride;
    target += loop.target_stride;
  }
}

void CopyRow(int width, const char* source, char* target, const Loop& loop) {
  if (loop.source_stride == width && loop.target_stride == width) {
    std::memcpy(target, source, loop.count * width);
    return;
  }
  switch (width) {
    case 1:
      return CopyRow<1>(source, target, loop);
    case 2:
      return CopyRow<2>(source, target, loop);
    case 4:
      return CopyRow<4>(source, target, loop);
    case 8:
      return CopyRow<8>(source, target, loop);
    default:
      return CopyRow<16>(source, target, loop);
  }
}

void CopyLoops(int width, absl::Span<const Loop> loops, const char* source, char* target) {
  if (loops.empty()) {
    std::memcpy(target, source, width);
    return;
  }
  if (loops.size() == 1) return CopyRow(width, source, target, loops[0]);
  for (int64_t i = 0; i < loops[0].count; ++i) {
    CopyLoops(width, loops.subspan(1), source + i * loops[0].source_stride,
              target + i * loops[0].target_stride);
  }
}

}  // namespace

absl::StatusOr<DimVector> ByteStridesOfLayout(const Shape& shape, absl::Span<const int64_t> minor_to_major) {
  DimVector strides(shape.rank(), 0);
  absl::InlinedVector<bool, 6> seen(shape.rank(), false);
  int64_t stride = ByteWidth(shape.element_type());
  bool permutation = static_cast<int64_t>(minor_to_major.size()) == shape.rank();
  for (size_t i = 0; permutation && i < minor_to_major.size(); ++i) {
    int64_t d = minor_to_major[i];
    permutation = d >= 0 && d < shape.rank() && !seen[d];
    if (!permutation) break;
    seen[d] = true;
    strides[d] = stride;
    stride *= shape.dim(d);
  }
  if (permutation) return strides;
  return absl::InvalidArgumentError(absl::StrCat("layout {", absl::StrJoin(minor_to_major, ","),
                                                 "} is not a permutation of the dimensions of ",
                                                 shape.ToString()));
}

DimVector RowMajorByteStrides(const Shape& shape) {
  DimVector strides = RowMajorStrides(shape.dims());
  for (int64_t& stride : strides) stride *= ByteWidth(shape.element_type());
  return strides;
}

bool IsDenseRowMajor(const Shape& shape, absl::Span<const int64_t> byte_strides) {
  if (shape.ElementCount() == 0) return true;
  DimVector dense = RowMajorByteStrides(shape);
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (shape.dim(d) != 1 && byte_strides[d] != dense[d]) return false;
  }
  return true;
}

void CopyStrided(const Shape& shape, const char* source, absl::Span<const int64_t> source_strides,
                 char* target, absl::Span<const int64_t> target_strides) {
  if (shape.ElementCount() == 0) return;
  const int width = ByteWidth(shape.element_type());
  auto loops = LoopsOf(shape, source_strides, target_strides);
  if (loops.empty() || shape.ByteSize() <= kGrainBytes) return CopyLoops(width, loops, source, target);
  if (loops.size() == 1 && loops[0].source_stride == width && loops[0].target_stride == width) {
    return CopyBytes(source, target, shape.ByteSize());
  }
  const Loop outer = loops[0];
  const int64_t bytes_a_turn = shape.ByteSize() / outer.count;
  Arena::Get().ParallelFor(
      outer.count, std::max<int64_t>(1, kGrainBytes / std::max<int64_t>(1, bytes_a_turn)),
      [&](int64_t begin, int64_t end) {
        absl::InlinedVector<Loop, 6> part(loops.begin(), loops.end());
        part[0].count = end - begin;
        CopyLoops(width, part, source + begin * outer.source_stride, target + begin * outer.target_stride);
      });
}

void CopyToDevice(const Shape& shape, const char* source, absl::Span<const int64_t> source_strides,
                  char* target) {
  CopyStrided(shape, source, source_strides, target, RowMajorByteStrides(shape));
  if (shape.element_type() != ElementType::kPred) return;
  const int64_t count = shape.ElementCount();
  for (int64_t i = 0; i < count; ++i) target[i] = target[i] != 0;
}

void CopyBytes(const char* source, char* target, int64_t bytes) {
  if (bytes <= kGrainBytes) {
    if (bytes > 0) std::memcpy(target, source, bytes);
    return;
  }
  Arena::Get().ParallelFor(bytes, kGrainBytes, [&](int64_t begin, int64_t end) {
    std::memcpy(target + begin, source + begin, end - begin);
  });
}

}  // namespace shoal

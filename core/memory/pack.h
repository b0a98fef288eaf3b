// Pack: offsets in one block for buffers that live from one time to another, so that no two of them which
// live at the same time overlap. Biggest first, each at the lowest offset where it fits: deterministic.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace shoal {

struct PackItem {
  int64_t bytes = 0;
  int32_t first = 0, last = 0;  // inclusive
};
struct Packing {
  std::vector<int64_t> offsets;  // multiples of `alignment`; 0 for items without bytes
  int64_t bytes = 0;             // of the block
};
Packing Pack(absl::Span<const PackItem> items, int64_t alignment);

}  // namespace shoal

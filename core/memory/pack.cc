#include "core/memory/pack.h"

#include <algorithm>

namespace shoal {

Packing Pack(absl::Span<const PackItem> items, int64_t alignment) {
  struct Placed {
    int64_t begin, end;
    int32_t first, last;
  };
  std::vector<int> order;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].bytes > 0) order.push_back(static_cast<int>(i));
  }
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    if (items[a].bytes != items[b].bytes) return items[a].bytes > items[b].bytes;
    return items[a].first != items[b].first ? items[a].first < items[b].first : a < b;
  });
  Packing packing;
  packing.offsets.assign(items.size(), 0);
  std::vector<Placed> placed;  // by begin
  for (int i : order) {
    const PackItem& item = items[i];
    const int64_t bytes = (item.bytes + alignment - 1) / alignment * alignment;
    int64_t begin = 0;
    for (const Placed& other : placed) {
      if (other.last < item.first || item.last < other.first) continue;
      if (begin + bytes <= other.begin) break;
      begin = std::max(begin, other.end);
    }
    packing.offsets[i] = begin;
    packing.bytes = std::max(packing.bytes, begin + bytes);
    const Placed here{begin, begin + bytes, item.first, item.last};
    placed.insert(std::upper_bound(placed.begin(), placed.end(), here,
                                   [](const Placed& a, const Placed& b) { return a.begin < b.begin; }),
                  here);
  }
  return packing;
}

}  // namespace shoal

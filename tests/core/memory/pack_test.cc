#include "core/memory/pack.h"

#include <random>

#include "gtest/gtest.h"

namespace shoal {
namespace {

TEST(PackTest, ReusesSpaceOfWhatIsGone) {
  const std::vector<PackItem> items = {{100, 0, 1}, {100, 2, 3}, {50, 1, 2}};
  const Packing packing = Pack(items, 64);
  EXPECT_EQ(packing.offsets[0], 0);
  EXPECT_EQ(packing.offsets[1], 0);
  EXPECT_EQ(packing.offsets[2], 128);
  EXPECT_EQ(packing.bytes, 192);
}

TEST(PackTest, EmptyItemsTakeNoRoom) {
  EXPECT_EQ(Pack({}, 64).bytes, 0);
  const std::vector<PackItem> items = {{0, 0, 9}, {3, 0, 9}};
  EXPECT_EQ(Pack(items, 64).bytes, 64);
}

TEST(PackTest, NothingThatLivesAtOnceOverlaps) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<PackItem> items;
    int64_t sum = 0;
    for (int i = 0; i < 37; ++i) {
      const int first = static_cast<int>(random() % 50);
      items.push_back({static_cast<int64_t>(random() % 1000), first, first + static_cast<int>(random() % 9)});
      sum += (items.back().bytes + 63) / 64 * 64;
    }
    const Packing packing = Pack(items, 64);
    EXPECT_LE(packing.bytes, sum);
    for (size_t a = 0; a < items.size(); ++a) {
      EXPECT_EQ(packing.offsets[a] % 64, 0);
      EXPECT_LE(packing.offsets[a] + items[a].bytes, packing.bytes);
      for (size_t b = 0; b < a; ++b) {
        const bool together = items[a].first <= items[b].last && items[b].first <= items[a].last;
        const bool overlap = packing.offsets[a] < packing.offsets[b] + items[b].bytes &&
                             packing.offsets[b] < packing.offsets[a] + items[a].bytes;
        EXPECT_FALSE(together && overlap) << "round " << round << " items " << a << " and " << b;
      }
    }
  }
}

}  // namespace
}  // namespace shoal

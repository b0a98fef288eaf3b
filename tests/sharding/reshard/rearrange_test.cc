// The traffic of rearrangements; that values arrive where they should is equals_unpartitioned_test.py's.
#include "sharding/reshard/rearrange.h"

#include <gtest/gtest.h>

#include "sharding/mesh/axes.h"

namespace shoal {
namespace {

const AxisList kX = Atoms(AxisList{{0, 1, 4}});

// Two arrays of 8 in four parts, joined: every device sends both its parts, of 2 each.
TEST(Rearrange, ConcatenationSendsEveryPartOnce) {
  const Rearrangement r{0, kX, {8, 8}, 4, {{{0, 0, 4, 0}}, {{0, 4, 4, 0}}, {{1, 0, 4, 0}}, {{1, 4, 4, 0}}}};
  EXPECT_EQ(TrafficOf(r).rows, 4);
  EXPECT_EQ(TrafficOf(r).rounds, 2);
}

TEST(Rearrange, WhatStaysIsFree) {
  const Rearrangement r{0, kX, {8}, 2, {{{0, 0, 2, 0}}, {{0, 2, 2, 0}}, {{0, 4, 2, 0}}, {{0, 6, 2, 0}}}};
  EXPECT_EQ(TrafficOf(r).rows, 0);
}

// Long pieces do not share a round with short ones where that can be helped.
TEST(Rearrange, LikeSizesGoTogether) {
  const Rearrangement r{
      0, kX, {40}, 10, {{{0, 10, 9, 0}, {0, 20, 1, 9}}, {{0, 0, 1, 0}, {0, 30, 9, 1}}, {}, {}}};
  EXPECT_EQ(TrafficOf(r).rows, 10);
}

}  // namespace
}  // namespace shoal

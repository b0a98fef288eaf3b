#include "collectives/communicator/asked_runs.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace shoal {
namespace {

TEST(AskedRunsTest, HoldsWhatASetHolds) {
  std::mt19937 random(7);
  for (const int spread : {10, 60, 4000}) {
    AskedRuns asked;
    std::set<int64_t> set;
    for (int i = 0; i < 100; ++i) {
      const int64_t run = 1000 + static_cast<int64_t>(random() % spread);
      asked.Add(run);
      set.insert(run);
      for (int64_t r = 995; r < 1005 + spread; ++r) ASSERT_EQ(asked.MayContain(r), set.contains(r)) << r;
    }
  }
}

TEST(AskedRunsTest, ForgetsNoneOfManyThatFollowEachOther) {
  AskedRuns asked;
  for (int64_t run = 0; run < 100'000; ++run) asked.Add(5'000'000 + run % 2 * 1'000'000 + run / 2);
  EXPECT_TRUE(asked.MayContain(5'000'000) && asked.MayContain(6'049'999));
  EXPECT_FALSE(asked.MayContain(4'999'999) || asked.MayContain(5'050'000) || asked.MayContain(6'050'000));
}

// What is scattered wide takes no memory without end, and nobody is accused for it.
TEST(AskedRunsTest, DoesNotDenyWhatItHasForgotten) {
  AskedRuns asked;
  for (int64_t run = 0; run < 200'000; ++run) asked.Add(3 * run);
  EXPECT_TRUE(asked.MayContain(0) && asked.MayContain(599'997));
}

}  // namespace
}  // namespace shoal

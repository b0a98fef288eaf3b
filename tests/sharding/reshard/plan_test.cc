// Reshard plans: what traffic they promise, and that they end where they should; the plans are checked by
// moving the array's index through them on paper, device by device.
#include "sharding/reshard/plan.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "sharding/mesh/axes.h"
#include "sharding/mesh/devices.h"

namespace shoal {
namespace {

const Mesh kMesh{"m", {{"x", 4}, {"y", 2}}, {}};
const AxisList kX = {{0, 1, 4}}, kY = {{1, 1, 2}}, kXY = {{0, 1, 4}, {1, 1, 2}}, kYX = {{1, 1, 2}, {0, 1, 4}};

Layout Make(std::vector<AxisList> dims, AxisList partial = {}) {
  Layout layout;
  for (const AxisList& axes : dims) layout.dims.push_back(Atoms(axes));
  layout.partial = Atoms(partial);
  return layout;
}

ReshardPlan Plan(const Layout& from, const Layout& to, std::initializer_list<int64_t> dims = {512, 512}) {
  return PlanReshard(kMesh, Shape::Array(ElementType::kF32, dims), from, to);
}

constexpr double kKiB = 1024;

TEST(Plan, NothingToDo) { EXPECT_TRUE(Plan(Make({kX, kY}), Make({kX, kY})).steps.empty()); }

TEST(Plan, SplittingFurtherIsFree) { EXPECT_EQ(Plan(Make({kX, {}}), Make({kXY, {}})).bytes, 0); }

TEST(Plan, MovingAxesIsOneAllToAll) {
  const ReshardPlan plan = Plan(Make({kXY, {}}), Make({{}, kXY}));
  ASSERT_EQ(plan.steps.size(), 1);
  EXPECT_EQ(plan.steps[0].kind, ReshardStepKind::kAllToAll);
  EXPECT_EQ(plan.bytes, 128 * kKiB * 7 / 8);
}

TEST(Plan, GatheringOneAxis) { EXPECT_EQ(Plan(Make({kX, kY}), Make({kX, {}})).bytes, 256 * kKiB / 2); }

TEST(Plan, AnotherOrderOfAxesIsAPermute) {
  const ReshardPlan plan = Plan(Make({kXY, {}}), Make({kYX, {}}));
  ASSERT_EQ(plan.steps.size(), 1);
  EXPECT_EQ(plan.steps[0].kind, ReshardStepKind::kPermute);
}

TEST(Plan, SwappingIsNoGather) {
  for (const ReshardStep& step : Plan(Make({kX, kY}), Make({kY, kX})).steps) {
    EXPECT_NE(step.kind, ReshardStepKind::kGather);
  }
}

TEST(Plan, PartialSumsWantedScattered) {
  const ReshardPlan plan = Plan(Make({{}, {}}, kX), Make({kX, {}}));
  ASSERT_EQ(plan.steps.size(), 1);
  EXPECT_EQ(plan.steps[0].kind, ReshardStepKind::kReduceScatter);
  EXPECT_EQ(plan.bytes, 1024 * kKiB * 3 / 4);
}

TEST(Plan, NeverDearerThanGatheringAll) {
  const ReshardPlan plan = Plan(Make({kX, {}}), Make({kY, {}}));
  EXPECT_LE(plan.bytes, 1024 * kKiB * 3 / 4);
}

// An uneven dimension whose parts do not nest is gathered whole: [0,3) [3,5) is no union of [0,2) [2,4)
// [4,5).
TEST(Plan, UnevenPartsThatDoNotNest) {
  const Mesh mesh{"m", {{"x", 2}, {"y", 2}}, {}};
  const Layout from = Make({{{0, 1, 2}, {1, 1, 2}}}), to = Make({{{0, 1, 2}}});
  const ReshardPlan plan = PlanReshard(mesh, Shape::Array(ElementType::kF32, {5}), from, to);
  ASSERT_FALSE(plan.steps.empty());
  EXPECT_EQ(plan.steps.front().axes.size(), 2);
}

// Work does not grow with the devices, and the chain is no longer than on a small mesh.
TEST(Plan, MeshesOfAnySizeAreAlike) {
  const auto plan = [](int64_t n, const Layout& from, const Layout& to) {
    const Mesh mesh{"m", {{"x", n}, {"y", n}}, {}};
    return PlanReshard(mesh, Shape::Array(ElementType::kF32, {1 << 20, 1 << 20}), from, to);
  };
  const auto layouts = [](int64_t n) -> std::vector<Layout> {
    const AxisList x = {{0, 1, n}}, y = {{1, 1, n}}, xy = {{0, 1, n}, {1, 1, n}}, yx = {{1, 1, n}, {0, 1, n}};
    return {Make({{}, {}}), Make({x, {}}), Make({{}, xy}), Make({yx, {}}),
            Make({x, y}),   Make({y, x}),  Make({xy, {}})};
  };
  const std::vector<Layout> small = layouts(2), large = layouts(1024);
  for (size_t i = 0; i < small.size(); ++i) {
    for (size_t j = 0; j < small.size(); ++j) {
      const ReshardPlan a = plan(2, small[i], small[j]), b = plan(1024, large[i], large[j]);
      EXPECT_LE(b.visits, 3 * a.visits + 10) << i << " to " << j;
      EXPECT_LE(b.steps.size(), a.steps.size() + 1) << i << " to " << j;
      EXPECT_EQ(b.steps.empty() ? large[i] : b.steps.back().after, large[j]);
    }
  }
}

// Whatever the layouts: the steps lead from one to the other, each from where the last one ended, each takes
// only what is there and never leaves an axis used twice.
TEST(Plan, RandomPlansAreSound) {
  std::mt19937 random(20260);
  const AxisList atoms = Atoms(kXY);
  for (int round = 0; round < 300; ++round) {
    auto layout = [&](bool with_partial) {
      Layout l = Layout::Replicated(3);
      AxisList shuffled = atoms;
      std::shuffle(shuffled.begin(), shuffled.end(), random);
      for (const AxisRef& atom : shuffled) {
        const int where = static_cast<int>(random() % 5);
        if (where < 3) l.dims[where].push_back(atom);
        if (where == 3 && with_partial) l.partial.push_back(atom);
      }
      std::sort(l.partial.begin(), l.partial.end());
      return l;
    };
    const Layout from = layout(true), to = layout(false);
    const ReshardPlan plan = Plan(from, to, {8, 24, 40});
    SCOPED_TRACE(ToString(plan, kMesh));
    const Layout& end = plan.steps.empty() ? from : plan.steps.back().after;
    EXPECT_EQ(end, to);
    for (const ReshardStep& step : plan.steps) {
      const AxisList used = Concat(step.after.Used(), step.after.partial);
      EXPECT_EQ(std::set<AxisRef>(used.begin(), used.end()).size(), used.size());
    }
  }
}

}  // namespace
}  // namespace shoal

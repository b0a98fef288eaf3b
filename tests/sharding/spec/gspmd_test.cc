#include "sharding/spec/gspmd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sharding/spec/layout.h"
#include "sharding/spec/rebase.h"

namespace shoal {
namespace {

using ::testing::ElementsAre;

using Type = OpSharding::Type;

// {devices=[tiles]<=[iota]T(transpose)}
OpSharding Iota(std::vector<int64_t> tiles, std::vector<int64_t> iota, std::vector<int> transpose,
                std::vector<Type> last = {}) {
  OpSharding sharding;
  sharding.type = Type::kOther;
  sharding.tile_dims = std::move(tiles);
  sharding.reshape_dims = std::move(iota);
  sharding.transpose = std::move(transpose);
  sharding.last_tile_dims = std::move(last);
  return sharding;
}

// {devices=[tiles]0,2,...}
OpSharding List(std::vector<int64_t> tiles, std::vector<int64_t> devices) {
  OpSharding sharding;
  sharding.type = Type::kOther;
  sharding.tile_dims = std::move(tiles);
  sharding.devices = std::move(devices);
  return sharding;
}

// Every partition must get the tile that GSPMD's definition gives it: tile index = its place in the list.
void ExpectSamePlacement(const OpSharding& given, int64_t rank) {
  SCOPED_TRACE(ToGspmdText(given));
  const auto sharding = FromOpSharding(given, rank);
  ASSERT_TRUE(sharding.ok()) << sharding.status();
  EXPECT_EQ(DevicesOf(ToOpSharding(*sharding)), DevicesOf(given));
  const auto mesh = std::make_shared<const Mesh>(Mesh{"m", {{"a", 2}, {"b", 4}}, {}});
  const auto rebased = Rebase(*sharding, mesh);
  ASSERT_TRUE(rebased.has_value());
  EXPECT_EQ(DevicesOf(ToOpSharding(*rebased)), DevicesOf(given)) << ToString(*rebased);
}

TEST(Gspmd, PlacementSurvivesConversionAndRebase) {
  ExpectSamePlacement(Iota({2, 4}, {8}, {0}), 2);
  ExpectSamePlacement(Iota({4, 2}, {2, 4}, {1, 0}), 2);
  ExpectSamePlacement(Iota({2, 1, 4}, {2, 4}, {0, 1}, {Type::kReplicated}), 2);
  ExpectSamePlacement(List({8}, {0, 4, 2, 6, 1, 5, 3, 7}), 1);
}

TEST(Rebase, RefusesAnUnrelatedOrder) {
  const Sharding sharding = *FromOpSharding(List({4}, {0, 1, 3, 2}), 1);
  const auto mesh = std::make_shared<const Mesh>(Mesh{"m", {{"a", 4}}, {}});
  EXPECT_FALSE(Rebase(sharding, mesh).has_value());
}

TEST(Layout, UnevenDimensionsRoundUp) {
  const Mesh mesh{"m", {{"x", 4}}, {}};
  Sharding sharding;
  sharding.mesh = std::make_shared<const Mesh>(mesh);
  sharding.dims = {DimSharding{{AxisRef{0, 1, 4}}}};
  const Shape shape = Shape::Array(ElementType::kF32, {5});
  const Layout layout = LayoutOf(sharding, 1);
  EXPECT_EQ(LocalShape(shape, layout), Shape::Array(ElementType::kF32, {2}));
}

}  // namespace
}  // namespace shoal

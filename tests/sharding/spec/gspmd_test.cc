#include "sharding/spec/gspmd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sharding/spec/layout.h"
#include "sharding/spec/rebase.h"

namespace shoal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<int64_t> DevicesOfText(absl::string_view text) {
  const auto parsed = ParseGspmd(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed.ok() ? DevicesOf(*parsed) : std::vector<int64_t>{};
}

TEST(Gspmd, TextRoundTrips) {
  for (absl::string_view text :
       {"{replicated}", "{manual}", "{maximal device=3}", "{devices=[2,4]<=[8]}",
        "{devices=[4,2]<=[2,4]T(1,0)}", "{devices=[2,2]0,2,1,3}",
        "{devices=[2,1,4]<=[8] last_tile_dim_replicate}",
        "{devices=[2,2,2]<=[8] last_tile_dims={manual, replicated}}", "{{replicated}, {devices=[8]<=[8]}}"}) {
    const auto parsed = ParseGspmd(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(ToGspmdText(*parsed), text);
  }
}

// numpy.arange(8).reshape(2,4).transpose(1,0).flatten() and the like.
TEST(Gspmd, IotaIsNumpys) {
  EXPECT_THAT(DevicesOfText("{devices=[4,2]<=[2,4]T(1,0)}"), ElementsAre(0, 4, 1, 5, 2, 6, 3, 7));
  EXPECT_THAT(DevicesOfText("{devices=[2,4]<=[2,2,2]T(2,0,1)}"), ElementsAre(0, 2, 4, 6, 1, 3, 5, 7));
}

TEST(Gspmd, BadTextSaysWhere) {
  for (absl::string_view text : {"", "{", "{devices=[2,4]<=[7]}", "{devices=[2]0}", "{foo}", "{replicated} x",
                                 "{devices=[99999999,99999999]<=[4]}", "{devices=[4]<=[2,2]T(0,0)}",
                                 "{{{replicated}}}", "{devices=[2]<=[2] last_tile_dims={sideways}}"}) {
    const auto parsed = ParseGspmd(text);
    EXPECT_FALSE(parsed.ok()) << text;
    if (!parsed.ok() && parsed.status().message().substr(0, 8) == "sharding") {
      EXPECT_THAT(std::string(parsed.status().message()), HasSubstr("expected"));
    }
  }
}

// Every partition must get the tile that GSPMD's definition gives it: tile index = its place in the list.
void ExpectSamePlacement(absl::string_view text, int64_t rank) {
  SCOPED_TRACE(std::string(text));
  const OpSharding given = *ParseGspmd(text);
  const auto sharding = FromOpSharding(given, rank);
  ASSERT_TRUE(sharding.ok()) << sharding.status();
  EXPECT_EQ(DevicesOf(ToOpSharding(*sharding)), DevicesOf(given));
  const auto mesh = std::make_shared<const Mesh>(Mesh{"m", {{"a", 2}, {"b", 4}}, {}});
  const auto rebased = Rebase(*sharding, mesh);
  ASSERT_TRUE(rebased.has_value());
  EXPECT_EQ(DevicesOf(ToOpSharding(*rebased)), DevicesOf(given)) << ToString(*rebased);
}

TEST(Gspmd, PlacementSurvivesConversionAndRebase) {
  ExpectSamePlacement("{devices=[2,4]<=[8]}", 2);
  ExpectSamePlacement("{devices=[4,2]<=[2,4]T(1,0)}", 2);
  ExpectSamePlacement("{devices=[2,1,4]<=[2,4]T(0,1) last_tile_dim_replicate}", 2);
  ExpectSamePlacement("{devices=[8]0,4,2,6,1,5,3,7}", 1);
}

TEST(Rebase, RefusesAnUnrelatedOrder) {
  const Sharding sharding = *FromOpSharding(*ParseGspmd("{devices=[4]0,1,3,2}"), 1);
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
  EXPECT_FALSE(IsEven(shape, layout));
  EXPECT_THAT(ShardOffsets(mesh, shape, layout, 3), ElementsAre(6));
}

}  // namespace
}  // namespace shoal

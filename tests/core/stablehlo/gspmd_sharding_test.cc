// XLA's sharding strings. The expected tiles come from the meaning that XLA documents: element [i, j, ...] of
// the tile assignment is the device with tile (i, j, ...).
#include <map>

#include "absl/strings/str_cat.h"
#include "core/stablehlo/import_sharding.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shoal {
namespace {

using ::testing::HasSubstr;

// The tile index of each dimension on `device`, by walking the mesh.
std::vector<int64_t> TileOf(const Sharding& sharding, int64_t device) {
  const Mesh& mesh = *sharding.mesh;
  int64_t position = device;
  if (!mesh.device_ids.empty()) {
    position = std::find(mesh.device_ids.begin(), mesh.device_ids.end(), device) - mesh.device_ids.begin();
  }
  std::vector<int64_t> coordinates(mesh.axes.size());
  for (size_t i = mesh.axes.size(); i-- > 0; position /= mesh.axes[i].size)
    coordinates[i] = position % mesh.axes[i].size;
  std::vector<int64_t> tile;
  for (const DimSharding& dim : sharding.dims) {
    int64_t index = 0;
    for (const AxisRef& axis : dim.axes) index = index * axis.size + coordinates[axis.axis];
    tile.push_back(index);
  }
  return tile;
}

Sharding Parse(absl::string_view text, const Shape& shape, int64_t devices) {
  auto shardings = ParseGspmdShardings(text, shape, devices);
  EXPECT_TRUE(shardings.ok()) << shardings.status();
  return shardings.ok() ? (*shardings)[0] : Sharding();
}

TEST(GspmdShardingTest, TilesAreOnTheDevicesThatTheStringSays) {
  struct Case {
    absl::string_view text;
    std::vector<int64_t> devices;  // row-major over the tile dimensions
    std::vector<int64_t> tiles;    // of the two dimensions and, if there is a third, of the copies
  } cases[] = {
      {"{devices=[4,1]<=[4]}", {0, 1, 2, 3}, {4, 1}},
      {"{devices=[2,2]<=[4]}", {0, 1, 2, 3}, {2, 2}},
      {"{devices=[2,2]<=[2,2]T(1,0)}", {0, 2, 1, 3}, {2, 2}},
      {"{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}", {0, 2, 1, 3}, {2, 1, 2}},
      {"{devices=[2,3]0,1,2,3,4,5}", {0, 1, 2, 3, 4, 5}, {2, 3}},
      {"{devices=[3,2]<=[2,3]T(1,0)}", {0, 3, 1, 4, 2, 5}, {3, 2}},
      {"{devices=[2,2]3,1,0,2}", {3, 1, 0, 2}, {2, 2}},
      {"{devices=[6,1]<=[2,3]T(1,0)}", {0, 3, 1, 4, 2, 5}, {6, 1}},
      {"{devices=[2,1,2]<=[4] last_tile_dims={replicated}}", {0, 1, 2, 3}, {2, 1, 2}},
  };
  for (const Case& c : cases) {
    const Sharding sharding =
        Parse(c.text, Shape::Array(ElementType::kF32, {12, 12}), static_cast<int64_t>(c.devices.size()));
    ASSERT_NE(sharding.mesh, nullptr);
    const int64_t copies = c.tiles.size() == 3 ? c.tiles[2] : 1;
    for (size_t i = 0; i < c.devices.size(); ++i) {
      const auto tile = static_cast<int64_t>(i) / copies;
      const std::vector<int64_t> expected = {tile / c.tiles[1], tile % c.tiles[1]};
      EXPECT_EQ(TileOf(sharding, c.devices[i]), expected) << c.text << " device " << c.devices[i];
    }
  }
}

TEST(GspmdShardingTest, StringsOverTheSameDevicesShareAMesh) {
  const Shape shape = Shape::Array(ElementType::kF32, {8, 8});
  const Sharding rows = Parse("{devices=[8,1]<=[8]}", shape, 8);
  const Sharding both = Parse("{devices=[2,4]<=[4,2]T(1,0)}", shape, 8);
  const Sharding none = Parse("{replicated}", shape, 8);
  EXPECT_EQ(*rows.mesh, *both.mesh);
  EXPECT_EQ(*rows.mesh, *none.mesh);
  EXPECT_TRUE(rows.mesh->device_ids.empty());
}

TEST(GspmdShardingTest, OtherKinds) {
  const Shape shape = Shape::Array(ElementType::kF32, {8});
  EXPECT_EQ(Parse("{manual}", shape, 4).mesh, nullptr);
  EXPECT_TRUE(Parse("{maximal device=2}", shape, 4).mesh->IsMaximal());
  EXPECT_EQ(Parse("{unknown shard_as 3}", shape, 4).mesh, nullptr);
  const Shape tuple = Shape::Tuple({shape, Shape::Scalar(ElementType::kS32)});
  auto shardings =
      ParseGspmdShardings("{{devices=[4]<=[4] metadata={op_name=\"a\"}}, {replicated}}", tuple, 4);
  ASSERT_TRUE(shardings.ok()) << shardings.status();
  EXPECT_EQ(ToString((*shardings)[0]), "{mesh<[s2=2,s1=2]>, [{s2,s1}]}");
  EXPECT_TRUE((*shardings)[1].dims.empty());
}

TEST(GspmdShardingTest, ManualAxesAreOnNoDimension) {
  const Shape shape = Shape::Array(ElementType::kF32, {8});
  const absl::string_view text = "{devices=[2,2,2]<=[2,4]T(1,0) last_tile_dims={manual, replicated}}";
  EXPECT_EQ(ToString(Parse(text, shape, 8)), "{mesh<[s4=2,s2=2,s1=2]>, [{s2}]}");
  // Tile (i,j,k) is device (4i+2j+k)%2*4 + (4i+2j+k)/2: the manual j has step 1, that of the dimension 2.
  EXPECT_THAT(*GspmdManualAxes(text, shape, 8), testing::ElementsAre("s1"));
  EXPECT_EQ(Parse("{devices=[2,4]<=[8] last_tile_dims={unreduced}}", shape, 8).unreduced.size(), 2);
  EXPECT_THAT(*GspmdManualAxes("{manual}", shape, 8), testing::IsEmpty());
  EXPECT_THAT(*GspmdManualAxes("{devices=[8]<=[8]}", shape, 8), testing::IsEmpty());
}

TEST(GspmdShardingTest, WrongStringsSayWhy) {
  const Shape shape = Shape::Array(ElementType::kF32, {8, 8});
  const auto error = [&](absl::string_view text) {
    return std::string(ParseGspmdShardings(text, shape, 4).status().message());
  };
  EXPECT_THAT(error("{devices=[4]<=[4]}"), HasSubstr("1 tile dimensions for f32[8,8]"));
  EXPECT_THAT(error("{devices=[2,2]<=[6]}"), HasSubstr("differ in their product"));
  EXPECT_THAT(error("{devices=[2,2]<=[2,2]T(0,0)}"), HasSubstr("no permutation"));
  EXPECT_THAT(error("{devices=[2,2]0,1,2"), HasSubstr("\",\" is expected"));
  EXPECT_THAT(error("{sideways}"), HasSubstr("begins with \"sideways"));
  EXPECT_THAT(error("{devices=[99999999999,99999999999]<=[4]}"), HasSubstr("sharding"));
}

}  // namespace
}  // namespace shoal

// Bytes and strings are what jaxlib 0.10.2 gives: HloSharding.iota_tile(...), str() of it and
// to_proto().SerializeToString().
#include "core/hlo/op_sharding.h"

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shoal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Case {
  const char* text;
  const char* hex;
};

TEST(OpShardingTest, AgreesWithJaxlib) {
  const Case cases[] = {
      {"{replicated}", ""},
      {"{manual}", "0804"},
      {"{unknown}", "0805"},
      {"{unreduced}", "0806"},
      {"{maximal device=3}", "0801220103"},
      {"{devices=[2,2]0,2,1,3}", "08031a020202220400020103"},
      {"{{replicated}, {devices=[8]<=[8]}}", "08022a002a0b08031a01084a0108520100"},
      {"{devices=[2,4]<=[8]}", "08031a0202044a0108520100"},
      {"{devices=[4,2]<=[2,4]T(1,0)}", "08031a0204024a02020452020100"},
      {"{devices=[2,4]<=[8] last_tile_dim_replicate}", "08031a02020430014a0108520100"},
      {"{devices=[2,2,2]<=[8] last_tile_dims={manual, replicated}}", "08031a03020202420204004a0108520100"},
  };
  for (const Case& c : cases) {
    const absl::StatusOr<OpSharding> sharding = ParseOpSharding(absl::HexStringToBytes(c.hex));
    ASSERT_TRUE(sharding.ok()) << c.text << sharding.status();
    EXPECT_EQ(ToGspmdText(*sharding), c.text);
    EXPECT_EQ(absl::BytesToHexString(SerializeOpSharding(*sharding)), c.hex) << c.text;
  }
}

// numpy.arange(8).reshape(2,4).transpose(1,0).flatten() and the like.
TEST(OpShardingTest, IotaIsNumpys) {
  OpSharding sharding;
  sharding.reshape_dims = {2, 4};
  sharding.transpose = {1, 0};
  EXPECT_THAT(DevicesOf(sharding), ElementsAre(0, 4, 1, 5, 2, 6, 3, 7));
  sharding.reshape_dims = {2, 2, 2};
  sharding.transpose = {2, 0, 1};
  EXPECT_THAT(DevicesOf(sharding), ElementsAre(0, 2, 4, 6, 1, 3, 5, 7));
}

OpSharding Tiled(std::vector<int64_t> tiles, std::vector<int64_t> iota, std::vector<int> transpose) {
  OpSharding sharding;
  sharding.type = OpSharding::Type::kOther;
  sharding.tile_dims = std::move(tiles);
  sharding.reshape_dims = std::move(iota);
  sharding.transpose = std::move(transpose);
  return sharding;
}

// None of these may come to whoever lists the devices.
TEST(OpShardingTest, NumbersThatDoNotFitAreRefused) {
  const auto error = [](const OpSharding& sharding) {
    return std::string(ParseOpSharding(SerializeOpSharding(sharding)).status().message());
  };
  EXPECT_EQ(error(Tiled({2, 3}, {6}, {0})), "");
  EXPECT_THAT(error(Tiled({2, 3}, {6}, {7})), HasSubstr("no permutation"));
  EXPECT_THAT(error(Tiled({2, 3}, {2, 3}, {0})), HasSubstr("another rank"));
  EXPECT_THAT(error(Tiled({2, 3}, {5}, {0})), HasSubstr("6 tiles with an iota of [5]"));
  EXPECT_THAT(error(Tiled({int64_t{1} << 40, 1 << 23}, {7}, {0})), HasSubstr("tiles, not of 1 to"));
  EXPECT_THAT(error(Tiled({-3, -2}, {6}, {0})), HasSubstr("tiles, not of 1 to"));
  OpSharding list = Tiled({3}, {}, {});
  list.devices = {0, 1};
  EXPECT_THAT(error(list), HasSubstr("3 tiles with 2 devices"));
  OpSharding tuple;
  tuple.type = OpSharding::Type::kTuple;
  tuple.elements = {tuple};
  EXPECT_THAT(error(tuple), HasSubstr("a tuple in a tuple"));
  OpSharding other;
  other.type = static_cast<OpSharding::Type>(77);
  EXPECT_THAT(error(other), HasSubstr("of type 77"));
}

TEST(OpShardingTest, AnyBytesAreSafeToRead) {
  const std::string bytes = absl::HexStringToBytes("08031a03020202420204004a0108520100");
  for (size_t size = 0; size < bytes.size(); ++size) (void)ParseOpSharding(bytes.substr(0, size));
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string other = bytes;
      other[i] = static_cast<char>(other[i] ^ (1 << bit));
      (void)ParseOpSharding(other);
    }
  }
  EXPECT_FALSE(ParseOpSharding("\x2a\x7f").ok());
}

}  // namespace
}  // namespace shoal

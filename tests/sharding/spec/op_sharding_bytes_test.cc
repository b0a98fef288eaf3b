// The expected bytes are what jaxlib 0.10.2 gives: HloSharding.iota_tile(...).to_proto().SerializeToString().
#include "sharding/spec/op_sharding_bytes.h"

#include "absl/strings/escaping.h"
#include "gtest/gtest.h"

namespace shoal {
namespace {

struct Case {
  const char* text;
  const char* hex;
};

TEST(OpShardingBytesTest, AgreesWithJaxlib) {
  const Case cases[] = {
      {"{replicated}", ""},
      {"{devices=[2,4]<=[8]}", "08031a0202044a0108520100"},
      {"{devices=[4,2]<=[2,4]T(1,0)}", "08031a0204024a02020452020100"},
      {"{devices=[2,4]<=[8] last_tile_dim_replicate}", "08031a02020430014a0108520100"},
      {"{devices=[2,2,2]<=[8] last_tile_dims={manual, replicated}}", "08031a03020202420204004a0108520100"},
  };
  for (const Case& c : cases) {
    const absl::StatusOr<OpSharding> sharding = ParseGspmd(c.text);
    ASSERT_TRUE(sharding.ok()) << sharding.status();
    EXPECT_EQ(absl::BytesToHexString(SerializeOpSharding(*sharding)), c.hex) << c.text;
    const absl::StatusOr<OpSharding> back = ParseOpShardingBytes(absl::HexStringToBytes(c.hex));
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(ToGspmdText(*back), ToGspmdText(*sharding));
  }
}

TEST(OpShardingBytesTest, AnyBytesAreSafeToRead) {
  const std::string bytes = absl::HexStringToBytes("08031a03020202420204004a0108520100");
  for (size_t size = 0; size < bytes.size(); ++size) (void)ParseOpShardingBytes(bytes.substr(0, size));
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string other = bytes;
      other[i] = static_cast<char>(other[i] ^ (1 << bit));
      (void)ParseOpShardingBytes(other);
    }
  }
  EXPECT_FALSE(ParseOpShardingBytes("\x2a\x7f").ok());
}

}  // namespace
}  // namespace shoal

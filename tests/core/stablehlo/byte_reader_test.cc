#include "core/stablehlo/byte_reader.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shoal {
namespace {

using ::testing::HasSubstr;

std::string Bytes(std::initializer_list<int> values) {
  std::string bytes;
  for (int value : values) bytes += static_cast<char>(value);
  return bytes;
}

// The examples of MLIR's format description: the low bits of the first byte count the bytes that follow.
TEST(ByteReaderTest, VarIntsAsMlirDescribesThem) {
  struct Case {
    std::string bytes;
    uint64_t value;
  } cases[] = {
      {Bytes({0x01}), 0},
      {Bytes({0x03}), 1},
      {Bytes({0xFF}), 127},
      {Bytes({0x02, 0x02}), 128},
      {Bytes({0xFE, 0xFF}), 16383},
      {Bytes({0x04, 0x00, 0x02}), 16384},
      {Bytes({0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}), UINT64_MAX},
  };
  for (const Case& c : cases) {
    ReadFailure failure;
    ByteReader reader(c.bytes, &failure);
    EXPECT_EQ(reader.VarInt(), c.value);
    EXPECT_TRUE(reader.ok());
    EXPECT_TRUE(reader.empty());
  }
}

TEST(ByteReaderTest, SignIsTheLowestBit) {
  ReadFailure failure;
  const std::string bytes = Bytes({0x01, 0x03, 0x05, 0x07});
  ByteReader reader(bytes, &failure);
  EXPECT_EQ(reader.SignedVarInt(), 0);
  EXPECT_EQ(reader.SignedVarInt(), -1);
  EXPECT_EQ(reader.SignedVarInt(), 1);
  EXPECT_EQ(reader.SignedVarInt(), -2);
}

TEST(ByteReaderTest, TruncatedIntegersFailAtTheirOffset) {
  for (const std::string& bytes : {Bytes({}), Bytes({0x02}), Bytes({0x00, 1, 2}), Bytes({0x80, 1, 2, 3})}) {
    ReadFailure failure;
    ByteReader reader(bytes, &failure);
    EXPECT_EQ(reader.VarInt(), 0u);
    EXPECT_FALSE(reader.ok());
    EXPECT_THAT(std::string(failure.status().message()), HasSubstr("at byte"));
  }
}

TEST(ByteReaderTest, ACountIsHeldAgainstTheBytesThatAreLeft) {
  ReadFailure failure;
  const std::string bytes = Bytes({0x09, 1, 1, 1});  // four entries, three bytes
  ByteReader reader(bytes, &failure);
  EXPECT_EQ(reader.Count(), 0u);
  EXPECT_THAT(std::string(failure.status().message()), HasSubstr("4 entries where only 3 bytes"));
}

TEST(ByteReaderTest, FailureIsStickyAndTheFirstOneStays) {
  ReadFailure failure;
  const std::string bytes = Bytes({0x03, 0x05});
  ByteReader reader(bytes, &failure);
  reader.Byte();
  reader.Fail("first");
  reader.Fail("second");
  EXPECT_EQ(reader.Byte(), 0);
  EXPECT_EQ(reader.remaining(), 0u);
  EXPECT_EQ(failure.status().message(), "MLIR bytecode: first at byte 1");
}

TEST(ByteReaderTest, FillerIsSkippedUpToTheAlignment) {
  ReadFailure failure;
  const std::string bytes = Bytes({1, 0xCB, 0xCB, 0xCB, 7, 0xCB, 0xCC});
  ByteReader reader(bytes, &failure);
  reader.Byte();
  reader.AlignTo(4);
  EXPECT_EQ(reader.Byte(), 7);
  reader.AlignTo(8);
  EXPECT_THAT(std::string(failure.status().message()), HasSubstr("filler"));
}

TEST(ByteReaderTest, ASectionIsTheRangeThatItSays) {
  ReadFailure failure;
  const std::string bytes = Bytes({0x04, 0x05, 8, 9, 10});
  ByteReader reader(bytes, &failure);
  uint8_t id = 0;
  ByteReader section = reader.Section(&id);
  EXPECT_EQ(id, 4);
  EXPECT_EQ(section.remaining(), 2u);
  EXPECT_EQ(section.offset(), 2u);
  EXPECT_EQ(reader.Byte(), 10);
}

}  // namespace
}  // namespace shoal

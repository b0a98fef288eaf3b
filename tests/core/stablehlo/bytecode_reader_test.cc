// Bytecode that jaxlib 0.10.2 wrote for jax.jit(lambda x: x + 1) on f32[8], as StableHLO 1.16.2; whole, cut
// and altered. Larger programs: stablehlo_test.py.
#include "core/stablehlo/bytecode_reader.h"

#include <random>
#include <string>

#include "absl/strings/escaping.h"
#include "core/stablehlo/import.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shoal {
namespace {

using ::testing::HasSubstr;

std::string AddOne() {
  return absl::HexStringToBytes(
      "4d4cef520d537461626c65484c4f5f76312e31362e3200011d0501050d01030b030b0f13171b1f03613f0f0129070f0f"
      "0f0b0f1b0b0b0b0f0b0b0b1b0b0f0f0b1b03170f0b0b0f130b0b0b0b1f0f01030f030d13070f17130702df1f1101051d"
      "19071d1b1d05111d1f2103050f0311030513051505171d17010519051b051d2d0907090963051f1523071d252705212d"
      "090707191f03032b0d0123090303310d0333351d231d251d271d291f07090000803f1f0b010102022903210509290105"
      "11030303032903010d1d046b050151010d01070459030105035001030704450309130307150005420505030707460b07"
      "0303030309060b03030501050b04050307060301050100fa032b0f0b0f211325131d0519252925150f2919110f0b1162"
      "75696c74696e0076686c6f006d6f64756c650066756e635f763100636f6e7374616e745f76310062726f616463617374"
      "5f696e5f64696d5f7631006164645f76310072657475726e5f7631002f746d702f73686c6f2f67656e312e7079006d68"
      "6c6f2e6e756d5f706172746974696f6e73006d686c6f2e6e756d5f7265706c69636173006a69745f5f6c616d62646100"
      "78006a6974283c6c616d6264613e29003c6d6f64756c653e006a6974283c6c616d6264613e292f616464003c6c616d62"
      "64613e006a61782e726573756c745f696e666f00726573756c74006d61696e007075626c696300081d090527010b292d"
      "2f3739033b033d");
}

TEST(BytecodeReaderTest, TheTreeOfAddOne) {
  const std::string bytes = AddOne();
  ASSERT_TRUE(LooksLikeBytecode(bytes));
  auto module = ReadMlirBytecode(bytes);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ((*module)->producer, "StableHLO_v1.16.2");
  const std::string text = ToString(*(*module)->top);
  EXPECT_THAT(text, HasSubstr("\"stablehlo.constant\"() {value = dense<\"0x0000803f\"> : tensor<f32>}"));
  EXPECT_THAT(text,
              HasSubstr("\"stablehlo.add\"(%0, %2) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>)"));
  EXPECT_THAT(text, HasSubstr("mhlo.num_partitions = 1 : i32"));
  const MlirOperation* function = (*module)->top->regions[0]->blocks[0]->operations[0];
  const MlirOperation* add = function->regions[0]->blocks[0]->operations[2];
  EXPECT_EQ(add->version, 1);
  EXPECT_EQ(LocationName(add->location), "jit(<lambda>)/add");
}

TEST(BytecodeReaderTest, EveryTruncationIsAnErrorThatSaysWhere) {
  const std::string bytes = AddOne();
  for (size_t size = 0; size < bytes.size(); ++size) {
    auto module = ReadMlirBytecode(absl::string_view(bytes).substr(0, size));
    ASSERT_EQ(module.status().code(), absl::StatusCode::kInvalidArgument) << size;
    EXPECT_THAT(std::string(module.status().message()), HasSubstr("at byte")) << size;
  }
}

// Not every altered byte is an error (a location, a number), but none does harm.
TEST(BytecodeReaderTest, NoAlteredByteDoesHarm) {
  const std::string good = AddOne();
  int errors = 0;
  for (size_t i = 0; i < good.size(); ++i) {
    for (int value : {0x00, 0x01, 0x7F, 0x80, 0xFF, good[i] ^ 1, good[i] + 2}) {
      std::string bytes = good;
      bytes[i] = static_cast<char>(value);
      errors += ImportStableHlo(bytes).ok() ? 0 : 1;
    }
  }
  EXPECT_GT(errors, static_cast<int>(good.size()));
}

TEST(BytecodeReaderTest, SeveralAlterationsDoNoHarm) {
  std::mt19937 random(20);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = AddOne();
    const int changes = 1 + static_cast<int>(random() % 6);
    for (int i = 0; i < changes; ++i) {
      const size_t at = random() % bytes.size();
      switch (random() % 3) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, random() % 4);
          break;
        default:
          bytes.insert(at, 1 + random() % 4, static_cast<char>(random()));
      }
    }
    (void)ImportStableHlo(bytes);
  }
}

TEST(BytecodeReaderTest, NewerAndForeignBytesAreNamed) {
  std::string bytes = AddOne();
  bytes[4] = 2 * 7 + 1;
  EXPECT_THAT(std::string(ReadMlirBytecode(bytes).status().message()),
              HasSubstr("bytecode version 7 is newer than 6"));
  EXPECT_FALSE(LooksLikeBytecode("module {"));
  EXPECT_FALSE(LooksLikeBytecode(""));
  EXPECT_THAT(std::string(ReadMlirBytecode("module {").status().message()), HasSubstr("magic number"));
}

}  // namespace
}  // namespace shoal

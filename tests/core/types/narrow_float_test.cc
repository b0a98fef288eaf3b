// The oracle is the format's definition: the tables of ml_dtypes' documentation for the named values, and for
// bf16 the hardware's float.
#include <bit>
#include <cmath>

#include "core/types/literal.h"
#include "gtest/gtest.h"

namespace shoal {
namespace {

TEST(NarrowFloatTest, EveryBitPatternRoundTrips) {
  for (ElementType type : AllElementTypes()) {
    if (!IsFloat(type) || BitWidth(type) > 16) continue;
    for (uint64_t bits = 0; bits < uint64_t{1} << BitWidth(type); ++bits) {
      const double value = FloatFromBits(type, bits);
      const uint64_t back = FloatToBits(type, value);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(FloatFromBits(type, back))) << type << " " << bits;
      } else {
        EXPECT_EQ(back, bits) << type << " of " << value;
      }
    }
  }
}

TEST(NarrowFloatTest, NamedValues) {
  EXPECT_EQ(FloatFromBits(ElementType::kF8E4M3FN, 0x7e), 448);
  EXPECT_EQ(FloatFromBits(ElementType::kF8E5M2, 0x7b), 57344);
  EXPECT_EQ(FloatFromBits(ElementType::kF8E4M3FNUZ, 0x7f), 240);
  EXPECT_EQ(FloatFromBits(ElementType::kF8E5M2FNUZ, 0x7f), 57344);
  EXPECT_EQ(FloatFromBits(ElementType::kF8E4M3B11FNUZ, 0x7f), 30);
  EXPECT_EQ(FloatFromBits(ElementType::kF4E2M1FN, 0x7), 6);
  EXPECT_EQ(FloatFromBits(ElementType::kF16, 0x7bff), 65504);
  EXPECT_EQ(FloatFromBits(ElementType::kF8E8M0FNU, 127), 1);
}

// What ml_dtypes 0.5 gives.
TEST(NarrowFloatTest, PowersOfTwoRoundHalvesUp) {
  const std::pair<double, uint64_t> kRounded[] = {
      {1.49, 127},     {1.5, 128},      {3, 129},           {6, 130},         {0x1p-127, 0},
      {0x1.6p-127, 1}, {0x1.7p-126, 1}, {0x1.8p-126, 2},    {0x1p-128, 0},    {1e-45, 0},
      {0, 255},        {-1, 255},       {0x1.7ffp127, 254}, {0x1.8p127, 255}, {HUGE_VAL, 255}};
  for (const auto& [value, bits] : kRounded)
    EXPECT_EQ(FloatToBits(ElementType::kF8E8M0FNU, value), bits) << value;
}

TEST(NarrowFloatTest, Bf16RoundsToNearestEvenAsTheHighHalfOfFloat) {
  for (uint32_t i = 0; i < 100000; ++i) {
    const uint32_t bits = i * 42949u;
    const float value = std::bit_cast<float>(bits);
    if (std::isnan(value)) continue;
    const uint32_t rounded = bits + 0x7fff + ((bits >> 16) & 1);
    EXPECT_EQ(FloatToBits(ElementType::kBF16, value), rounded >> 16) << value;
  }
}

}  // namespace
}  // namespace shoal

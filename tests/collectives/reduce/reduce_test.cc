#include "collectives/reduce/reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "collectives/reduce/narrow.h"
#include "collectives/reduce/stream_copy.h"
#include "core/types/literal.h"

namespace shoal {
namespace {

constexpr ReductionKind kAllKinds[] = {ReductionKind::kSum, ReductionKind::kProduct, ReductionKind::kMin,
                                       ReductionKind::kMax, ReductionKind::kAnd,     ReductionKind::kOr,
                                       ReductionKind::kXor};

// The plain definition, on one element, in a wide type.
template <typename T>
T Combine(ReductionKind kind, T a, T b) {
  switch (kind) {
    case ReductionKind::kSum:
      return a + b;
    case ReductionKind::kProduct:
      return a * b;
    case ReductionKind::kMin:
      if (a == b) return std::signbit(a) ? a : b;
      return std::isnan(a) || a < b ? a : b;
    case ReductionKind::kMax:
      if (a == b) return std::signbit(a) ? b : a;
      return std::isnan(a) || a > b ? a : b;
    default:
      return 0;
  }
}
int64_t CombineInteger(ReductionKind kind, int64_t a, int64_t b, bool is_signed) {
  const uint64_t ua = a, ub = b;
  switch (kind) {
    case ReductionKind::kSum:
      return static_cast<int64_t>(ua + ub);
    case ReductionKind::kProduct:
      return static_cast<int64_t>(ua * ub);
    case ReductionKind::kMin:
      return is_signed ? std::min(a, b) : static_cast<int64_t>(std::min(ua, ub));
    case ReductionKind::kMax:
      return is_signed ? std::max(a, b) : static_cast<int64_t>(std::max(ua, ub));
    case ReductionKind::kAnd:
      return a & b;
    case ReductionKind::kOr:
      return a | b;
    case ReductionKind::kXor:
      return a ^ b;
  }
  return 0;
}

// `value` cut to `bits` and extended to 64.
int64_t Wrap(int64_t value, int bits, bool is_signed) {
  if (bits == 64) return value;
  const uint64_t cut = static_cast<uint64_t>(value) << (64 - bits);
  return is_signed ? static_cast<int64_t>(cut) >> (64 - bits) : static_cast<int64_t>(cut >> (64 - bits));
}

TEST(ReduceTest, IntegersOfEveryWidthWrap) {
  std::mt19937_64 random(7);
  for (ElementType type : AllElementTypes()) {
    if (!IsInteger(type)) continue;
    const int width = ByteWidth(type), bits = BitWidth(type);
    for (ReductionKind kind : kAllKinds) {
      constexpr int64_t kCount = 1031;
      std::vector<std::vector<char>> sources(3, std::vector<char>(kCount * width));
      std::vector<std::vector<int64_t>> values(3, std::vector<int64_t>(kCount));
      for (int s = 0; s < 3; ++s) {
        for (int64_t i = 0; i < kCount; ++i) {
          const uint64_t any = random();  // above a sub-byte number's own bits too
          values[s][i] = Wrap(static_cast<int64_t>(any), bits, IsSigned(type));
          std::memcpy(&sources[s][i * width], &any, width);
        }
      }
      const void* pointers[] = {sources[0].data(), sources[1].data(), sources[2].data()};
      std::vector<char> out(kCount * width);
      Reduce(type, kind, pointers, out.data(), kCount);
      for (int64_t i = 0; i < kCount; ++i) {
        int64_t want = values[0][i];
        for (int s = 1; s < 3; ++s) {
          want = Wrap(CombineInteger(kind, want, values[s][i], IsSigned(type)), bits, IsSigned(type));
        }
        int64_t got = 0;
        std::memcpy(&got, &out[i * width], width);
        got = Wrap(got, width * 8, IsSigned(type));
        ASSERT_EQ(got, want) << ElementTypeName(type) << " " << ReductionName(kind);
      }
    }
  }
}

TEST(ReduceTest, NarrowFloatsAccumulateInFloatAndRoundOnce) {
  std::mt19937_64 random(11);
  for (ElementType type : AllElementTypes()) {
    if (!IsNarrowFloat(type)) continue;
    const int width = ByteWidth(type);
    for (ReductionKind kind :
         {ReductionKind::kSum, ReductionKind::kProduct, ReductionKind::kMin, ReductionKind::kMax}) {
      constexpr int64_t kCount = 3001;
      std::vector<std::vector<char>> sources(4, std::vector<char>(kCount * width));
      std::vector<std::vector<float>> values(4, std::vector<float>(kCount));
      for (int s = 0; s < 4; ++s) {
        for (int64_t i = 0; i < kCount; ++i) {
          const uint64_t bits = random() & ((uint64_t{1} << BitWidth(type)) - 1);
          values[s][i] = static_cast<float>(FloatFromBits(type, bits));
          std::memcpy(&sources[s][i * width], &bits, width);
        }
      }
      const void* pointers[] = {sources[0].data(), sources[1].data(), sources[2].data(), sources[3].data()};
      // In place: the target is a source.
      Reduce(type, kind, pointers, sources[2].data(), kCount);
      for (int64_t i = 0; i < kCount; ++i) {
        float want = values[0][i];
        for (int s = 1; s < 4; ++s) want = Combine(kind, want, values[s][i]);
        uint64_t got = 0;
        std::memcpy(&got, &sources[2][i * width], width);
        const double rounded = FloatFromBits(type, FloatToBits(type, want));
        const double value = FloatFromBits(type, got);
        if (std::isnan(rounded)) {
          ASSERT_TRUE(std::isnan(value)) << ElementTypeName(type);
        } else {
          ASSERT_EQ(got, FloatToBits(type, want))
              << ElementTypeName(type) << " " << ReductionName(kind) << " " << want;
        }
      }
    }
  }
}

// All f16 and bf16 numbers, and floats around every rounding edge.
TEST(NarrowTest, AgreesWithCoreTypesBitForBit) {
  for (ElementType type : {ElementType::kF16, ElementType::kBF16}) {
    for (uint32_t bits = 0; bits < 65536; ++bits) {
      const uint16_t half = static_cast<uint16_t>(bits);
      float wide;
      WidenToFloat(type, &half, &wide, 1);
      const double want = FloatFromBits(type, bits);
      ASSERT_TRUE(std::isnan(want) ? std::isnan(wide)
                                   : wide == want && std::signbit(wide) == std::signbit(want));
      if (std::isnan(want)) continue;
      const float next = std::nextafter(wide, HUGE_VALF), half_way = wide + (next - wide) * 0.5f;
      uint16_t above = static_cast<uint16_t>(half + 1);
      float wide_above;
      WidenToFloat(type, &above, &wide_above, 1);
      const float middle = wide / 2 + wide_above / 2;
      for (float x :
           {wide, next, half_way, middle, std::nextafter(middle, 0.0f), std::nextafter(middle, HUGE_VALF)}) {
        if (std::isnan(x)) continue;
        uint16_t got;
        NarrowFromFloat(type, &x, &got, 1);
        ASSERT_EQ(got, FloatToBits(type, x)) << ElementTypeName(type) << " " << x;
      }
    }
  }
}

// Around every number of a byte, and around the middle between it and the next.
TEST(NarrowTest, BytesAgreeWithCoreTypesBitForBit) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (ElementType type : AllElementTypes()) {
    if (!IsFloat(type) || BitWidth(type) > 8) continue;
    std::vector<float> xs = {nan, -nan, HUGE_VALF, -HUGE_VALF, 1e38f, -1e38f, 1e-45f, -1e-45f};
    for (uint32_t bits = 0; bits + 1 < uint32_t{1} << BitWidth(type); ++bits) {
      const float a = static_cast<float>(FloatFromBits(type, bits));
      const float b = static_cast<float>(FloatFromBits(type, bits + 1));
      for (float edge : {a, a / 2 + b / 2})
        xs.insert(xs.end(), {edge, std::nextafter(edge, 0.0f), std::nextafter(edge, 2 * edge)});
    }
    for (float x : xs) {
      uint8_t got;
      NarrowFromFloat(type, &x, &got, 1);
      ASSERT_EQ(got, FloatToBits(type, x)) << ElementTypeName(type) << " " << x;
    }
  }
}

TEST(ReduceTest, MinusZeroIsLess) {
  const std::vector<double> a = {0.0, -0.0, -0.0, 0.0}, b = {-0.0, 0.0, -0.0, 0.0};
  const void* pointers[] = {a.data(), b.data()};
  std::vector<double> out(4);
  Reduce(ElementType::kF64, ReductionKind::kMax, pointers, out.data(), 4);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(std::signbit(out[i]), i == 2) << i;
  Reduce(ElementType::kF64, ReductionKind::kMin, pointers, out.data(), 4);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(std::signbit(out[i]), i != 3) << i;
}

TEST(ReduceTest, FloatsAndNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> a = {1, nan, 3, -0.0f}, b = {2, 5, nan, 0.5f};
  const void* pointers[] = {a.data(), b.data()};
  std::vector<float> out(4);
  Reduce(ElementType::kF32, ReductionKind::kMax, pointers, out.data(), 4);
  EXPECT_EQ(out[0], 2);
  EXPECT_TRUE(std::isnan(out[1]));
  EXPECT_TRUE(std::isnan(out[2]));
  EXPECT_EQ(out[3], 0.5f);
  Reduce(ElementType::kF32, ReductionKind::kMin, pointers, out.data(), 4);
  EXPECT_EQ(out[0], 1);
  EXPECT_TRUE(std::isnan(out[1]));
  EXPECT_TRUE(std::isnan(out[2]));
  std::vector<double> c = {1.5, 2.5}, d = {0.25, -1};
  const void* doubles[] = {c.data(), d.data()};
  Reduce(ElementType::kF64, ReductionKind::kProduct, doubles, c.data(), 2);
  EXPECT_EQ(c, (std::vector<double>{0.375, -2.5}));
}

TEST(ReduceTest, ComplexSumAndProduct) {
  using C = std::complex<float>;
  const std::vector<C> a = {{1, 2}, {0, 1}}, b = {{3, -1}, {0, 1}};
  const void* pointers[] = {a.data(), b.data()};
  std::vector<C> out(2);
  Reduce(ElementType::kC64, ReductionKind::kSum, pointers, out.data(), 2);
  EXPECT_EQ(out, (std::vector<C>{{4, 1}, {0, 2}}));
  Reduce(ElementType::kC64, ReductionKind::kProduct, pointers, out.data(), 2);
  EXPECT_EQ(out, (std::vector<C>{{5, 5}, {-1, 0}}));
}

TEST(ReduceTest, PredIsLogical) {
  const std::vector<uint8_t> a = {0, 0, 1, 1}, b = {0, 1, 0, 1};
  const void* pointers[] = {a.data(), b.data()};
  std::vector<uint8_t> out(4);
  for (ReductionKind kind : {ReductionKind::kSum, ReductionKind::kMax, ReductionKind::kOr}) {
    Reduce(ElementType::kPred, kind, pointers, out.data(), 4);
    EXPECT_EQ(out, (std::vector<uint8_t>{0, 1, 1, 1}));
  }
  for (ReductionKind kind : {ReductionKind::kProduct, ReductionKind::kMin, ReductionKind::kAnd}) {
    Reduce(ElementType::kPred, kind, pointers, out.data(), 4);
    EXPECT_EQ(out, (std::vector<uint8_t>{0, 0, 0, 1}));
  }
}

TEST(ReduceTest, RefusesWhatHasNoMeaning) {
  EXPECT_TRUE(CheckReduction(ElementType::kF32, ReductionKind::kSum).ok());
  EXPECT_TRUE(CheckReduction(ElementType::kPred, ReductionKind::kXor).ok());
  const absl::Status bitwise = CheckReduction(ElementType::kBF16, ReductionKind::kXor);
  EXPECT_EQ(bitwise.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(bitwise.message(), "a collective cannot reduce bf16 by xor");
  EXPECT_FALSE(CheckReduction(ElementType::kC64, ReductionKind::kMax).ok());
  EXPECT_FALSE(CheckReduction(ElementType::kToken, ReductionKind::kSum).ok());
}

TEST(StreamCopyTest, CopiesThatAndNothingElse) {
  std::vector<char> from(20000), to(20000);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i * 7 + i / 251);
  for (int64_t bytes : {0, 1, 4095, 4096, 4097, 9001, 16384}) {
    for (int offset : {0, 1, 16, 63}) {
      std::fill(to.begin(), to.end(), 'x');
      CopyPastCaches(to.data() + 100 + offset, from.data() + 3 * offset, bytes);
      std::vector<char> want(to.size(), 'x');
      std::copy_n(from.begin() + 3 * offset, bytes, want.begin() + 100 + offset);
      EXPECT_EQ(to, want) << bytes << " bytes at " << offset;
    }
  }
}

}  // namespace
}  // namespace shoal

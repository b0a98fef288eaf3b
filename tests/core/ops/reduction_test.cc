// The oracle is the definition: combined with the identity, every value of the type stays what it is.
#include "core/ops/reduction.h"

#include <cmath>
#include <complex>
#include <limits>

#include "absl/strings/str_cat.h"
#include "core/hlo/parser.h"
#include "gtest/gtest.h"

namespace shoal {
namespace {

TEST(ReductionTest, IdentityOfNarrowFloatsLeavesEveryValueAlone) {
  for (ElementType type : AllElementTypes()) {
    if (!IsFloat(type) || BitWidth(type) > 8) continue;
    SCOPED_TRACE(ElementTypeName(type));
    const double least = ReductionIdentity(Opcode::kMaximum, type)->AsDouble(0);
    const double greatest = ReductionIdentity(Opcode::kMinimum, type)->AsDouble(0);
    for (uint64_t bits = 0; bits < uint64_t{1} << BitWidth(type); ++bits) {
      const double value = FloatFromBits(type, bits);
      if (std::isnan(value)) continue;
      EXPECT_LE(least, value);
      EXPECT_GE(greatest, value);
    }
  }
}

template <typename T>
void ExpectLimits(ElementType type, int64_t all_ones) {
  SCOPED_TRACE(ElementTypeName(type));
  EXPECT_EQ(ReductionIdentity(Opcode::kMaximum, type)->Get<T>(0), std::numeric_limits<T>::lowest());
  EXPECT_EQ(ReductionIdentity(Opcode::kMinimum, type)->Get<T>(0), std::numeric_limits<T>::max());
  EXPECT_EQ(ReductionIdentity(Opcode::kAnd, type)->AsInt(0), all_ones);
  EXPECT_EQ(ReductionIdentity(Opcode::kMultiply, type)->AsInt(0), 1);
  EXPECT_EQ(ReductionIdentity(Opcode::kXor, type)->AsInt(0), 0);
}

TEST(ReductionTest, IdentityOfIntegersIsTheLimitOfTheType) {
  ExpectLimits<int8_t>(ElementType::kS8, -1);
  ExpectLimits<int64_t>(ElementType::kS64, -1);
  ExpectLimits<uint16_t>(ElementType::kU16, 0xffff);
  ExpectLimits<uint64_t>(ElementType::kU64, -1);
  // Integers of less than a byte lie extended in theirs.
  EXPECT_EQ(ReductionIdentity(Opcode::kMaximum, ElementType::kS4)->AsInt(0), -8);
  EXPECT_EQ(ReductionIdentity(Opcode::kMinimum, ElementType::kS2)->AsInt(0), 1);
  EXPECT_EQ(ReductionIdentity(Opcode::kMinimum, ElementType::kU4)->AsInt(0), 15);
  EXPECT_EQ(ReductionIdentity(Opcode::kAnd, ElementType::kU2)->AsInt(0), 3);
  EXPECT_EQ(ReductionIdentity(Opcode::kAnd, ElementType::kPred)->AsInt(0), 1);
}

TEST(ReductionTest, WideFloatsHaveInfinities) {
  EXPECT_EQ(ReductionIdentity(Opcode::kMaximum, ElementType::kF64)->AsDouble(0), -HUGE_VAL);
  EXPECT_EQ(ReductionIdentity(Opcode::kMinimum, ElementType::kBF16)->AsDouble(0), HUGE_VAL);
  EXPECT_EQ(ReductionIdentity(Opcode::kMultiply, ElementType::kC64)->AsDouble(0), 1);
  EXPECT_EQ(ReductionIdentity(Opcode::kMinimum, ElementType::kC128)->Get<std::complex<double>>(0),
            std::complex<double>(HUGE_VAL, HUGE_VAL));
  EXPECT_EQ(ReductionIdentity(Opcode::kSubtract, ElementType::kF32), std::nullopt);
}

std::optional<Opcode> OpcodeOfBody(absl::string_view root) {
  const std::string text = absl::StrCat(
      "HloModule m\nbody { a = f32[] parameter(0) b = f32[] parameter(1) n = f32[] negate(b) ROOT r = f32[] ",
      root,
      " }\nENTRY main { x = f32[3] parameter(0) z = f32[] constant(0) "
      "ROOT s = f32[] reduce(x, z), dimensions={0}, to_apply=body }\n");
  const auto module = ParseHloText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return ReductionOpcode(*(*module)->entry()->root()->called(0));
}

TEST(ReductionTest, OnlyOneOperationOnBothParametersCounts) {
  EXPECT_EQ(OpcodeOfBody("maximum(a, b)"), Opcode::kMaximum);
  EXPECT_EQ(OpcodeOfBody("add(b, a)"), Opcode::kAdd);
  EXPECT_EQ(OpcodeOfBody("subtract(a, b)"), std::nullopt);
  EXPECT_EQ(OpcodeOfBody("add(a, a)"), std::nullopt);
  EXPECT_EQ(OpcodeOfBody("add(a, n)"), std::nullopt);
}

}  // namespace
}  // namespace shoal

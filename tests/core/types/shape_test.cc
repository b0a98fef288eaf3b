#include "core/types/shape.h"

#include "gtest/gtest.h"

namespace shoal {
namespace {

TEST(ShapeTest, TextRoundTrips) {
  for (const char* text :
       {"f32[]", "f32[2,3]", "pred[0]", "(f32[2], s32[])", "()", "token[]", "((c64[1]), bf16[5,7,1])"}) {
    auto shape = Shape::Parse(text);
    ASSERT_TRUE(shape.ok()) << shape.status();
    EXPECT_EQ(shape->ToString(), text);
    EXPECT_EQ(Shape::Parse(shape->ToString(/*with_layout=*/true)).value(), *shape);
  }
}

TEST(ShapeTest, RefusesBadText) {
  for (const char* text : {"", "f32", "f32[", "f32[-1]", "f32[2]x", "(f32[2]", "g7[2]", "f32[2,3]{0,1}",
                           "f32[9223372036854775807,9223372036854775807]"}) {
    EXPECT_EQ(Shape::Parse(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_FALSE(Shape::Parse(std::string(100000, '(')).ok());
}

TEST(ShapeTest, CountsAndSizes) {
  EXPECT_EQ(Shape::Array(ElementType::kC128, {2, 3}).ByteSize(), 96);
  EXPECT_EQ(Shape::Array(ElementType::kS4, {5}).ByteSize(), 5);
  EXPECT_EQ(Shape::Array(ElementType::kF32, {4, 0, 2}).ElementCount(), 0);
  EXPECT_EQ(Shape::Scalar(ElementType::kPred).ByteSize(), 1);
  EXPECT_EQ(Shape::Parse("((f32[2]), token[], s8[3])").value().Leaves().size(), 3);
}

TEST(ShapeTest, CheckedProductSeesOverflowBehindZero) {
  EXPECT_EQ(CheckedProduct({3, 5}, 4).value(), 15);
  EXPECT_EQ(CheckedProduct({3, 0, 5}).value(), 0);
  EXPECT_FALSE(CheckedProduct({int64_t{1} << 40, int64_t{1} << 40}).ok());
  EXPECT_FALSE(CheckedProduct({-1}).ok());
}

}  // namespace
}  // namespace shoal

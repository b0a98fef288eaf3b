#include "plugin/client/strided_copy.h"

#include <numeric>
#include <vector>

#include "gtest/gtest.h"

namespace shoal {
namespace {

// The definition: element by element, by index.
std::vector<char> Plain(const Shape& shape, const char* source, absl::Span<const int64_t> strides) {
  const int width = ByteWidth(shape.element_type());
  std::vector<char> result(shape.ByteSize());
  std::vector<int64_t> index(shape.rank(), 0);
  for (int64_t i = 0; i < shape.ElementCount(); ++i) {
    int64_t offset = 0, rest = i;
    for (int64_t d = shape.rank() - 1; d >= 0; --d) {
      offset += rest % shape.dim(d) * strides[d];
      rest /= shape.dim(d);
    }
    std::copy(source + offset, source + offset + width, result.data() + i * width);
  }
  return result;
}

void ExpectSame(const Shape& shape, const char* source, absl::Span<const int64_t> strides) {
  std::vector<char> got(shape.ByteSize());
  CopyStrided(shape, source, strides, got.data(), RowMajorByteStrides(shape));
  EXPECT_EQ(got, Plain(shape, source, strides)) << shape.ToString();
}

TEST(StridedCopyTest, EveryLayoutOfOddShapes) {
  for (ElementType type :
       {ElementType::kS8, ElementType::kF16, ElementType::kF32, ElementType::kF64, ElementType::kC128}) {
    Shape shape = Shape::Array(type, {3, 5, 1, 7});
    std::vector<char> data(shape.ByteSize());
    std::iota(data.begin(), data.end(), 0);
    std::vector<int64_t> order = {0, 1, 2, 3};
    do {
      ExpectSame(shape, data.data(), ByteStridesOfLayout(shape, order).value());
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST(StridedCopyTest, NegativeStridesBroadcastsAndPadding) {
  Shape shape = Shape::Array(ElementType::kF32, {3, 5});
  std::vector<float> data(200);
  std::iota(data.begin(), data.end(), 0.f);
  ExpectSame(shape, reinterpret_cast<char*>(&data[100]), {-20, -4});
  ExpectSame(shape, reinterpret_cast<char*>(&data[0]), {0, 4});
  ExpectSame(shape, reinterpret_cast<char*>(&data[0]), {48, 8});
}

TEST(StridedCopyTest, ScalarsAndEmptyArrays) {
  double value = 2.5, copy = 0;
  CopyStrided(Shape::Scalar(ElementType::kF64), reinterpret_cast<char*>(&value), {},
              reinterpret_cast<char*>(&copy), {});
  EXPECT_EQ(copy, 2.5);
  CopyStrided(Shape::Array(ElementType::kF64, {0, 3}), nullptr, {24, 8}, nullptr, {24, 8});
}

TEST(StridedCopyTest, BigTransposeInParallel) {
  Shape shape = Shape::Array(ElementType::kF32, {1031, 517});
  std::vector<float> data(shape.ElementCount());
  std::iota(data.begin(), data.end(), 0.f);
  ExpectSame(shape, reinterpret_cast<char*>(data.data()), ByteStridesOfLayout(shape, {0, 1}).value());
}

TEST(StridedCopyTest, TruthValuesOfADeviceAreZeroAndOne) {
  const unsigned char bytes[6] = {0, 96, 1, 0, 255, 2};
  char copy[6];
  CopyToDevice(Shape::Array(ElementType::kPred, {2, 3}), reinterpret_cast<const char*>(bytes), {1, 2}, copy);
  EXPECT_EQ(std::vector<int>(copy, copy + 6), (std::vector<int>{0, 1, 1, 1, 0, 1}));
  CopyToDevice(Shape::Array(ElementType::kU8, {3}), reinterpret_cast<const char*>(bytes), {1}, copy);
  EXPECT_EQ(copy[1], 96);
}

TEST(StridedCopyTest, KnowsDenseRowMajor) {
  Shape shape = Shape::Array(ElementType::kF32, {2, 1, 3});
  EXPECT_TRUE(IsDenseRowMajor(shape, {12, 999, 4}));
  EXPECT_FALSE(IsDenseRowMajor(shape, {4, 4, 8}));
  EXPECT_FALSE(ByteStridesOfLayout(shape, {0, 0, 1}).ok());
  EXPECT_FALSE(ByteStridesOfLayout(shape, {0, 1}).ok());
}

}  // namespace
}  // namespace shoal

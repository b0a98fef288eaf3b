#include "core/hlo/origin.h"

#include "gtest/gtest.h"

namespace shoal {
namespace {

TEST(OriginTest, TakesApartAndPutsTogether) {
  const std::string text = "jit(step)/jvp(f)/dot_general at /home/me/train.py:41";
  const Origin origin = ParseOrigin(text);
  EXPECT_EQ(origin.name, "jit(step)/jvp(f)/dot_general");
  EXPECT_EQ(origin.file, "/home/me/train.py");
  EXPECT_EQ(origin.line, 41);
  EXPECT_EQ(OriginText(origin), text);
}

TEST(OriginTest, ShortOriginIsTheOperationAndTheFile) {
  EXPECT_EQ(ShortOrigin("jit(step)/jvp(f)/dot_general at /home/me/train.py:41"), "dot_general at train.py:41");
  EXPECT_EQ(ShortOrigin("jit(step)/add"), "add");
  EXPECT_EQ(ShortOrigin("add"), "add");
  EXPECT_EQ(ShortOrigin(""), "");
}

}  // namespace
}  // namespace shoal

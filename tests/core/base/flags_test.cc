#include "core/base/flags.h"

#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shoal {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(FlagsTest, AnswersTheDefaultWhenUnsetOrEmpty) {
  unsetenv("SHOAL_NUM_DEVICES");
  EXPECT_EQ(IntFlag("SHOAL_NUM_DEVICES").value(), 1);
  setenv("SHOAL_NUM_DEVICES", "", 1);
  EXPECT_EQ(IntFlag("SHOAL_NUM_DEVICES").value(), 1);
  unsetenv("SHOAL_NUM_DEVICES");
}

TEST(FlagsTest, NamesFlagAndValueThatDoNotParse) {
  setenv("SHOAL_NUM_DEVICES", "four", 1);
  const absl::Status status = CheckFlags();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("SHOAL_NUM_DEVICES=\"four\""));
  setenv("SHOAL_NUM_DEVICES", "-1", 1);
  EXPECT_FALSE(CheckFlags().ok());
  unsetenv("SHOAL_NUM_DEVICES");
  EXPECT_TRUE(CheckFlags().ok());
}

TEST(FlagsTest, SwitchesAreZeroOrOne) {
  setenv("SHOAL_TRACE", "1", 1);
  EXPECT_TRUE(BoolFlag("SHOAL_TRACE").value());
  for (const char* other : {"yes", "true", "2", "on"}) {
    setenv("SHOAL_TRACE", other, 1);
    EXPECT_FALSE(CheckFlags().ok()) << other;
  }
  unsetenv("SHOAL_TRACE");
}

TEST(FlagsTest, FindsUnknownNames) {
  setenv("SHOAL_NUM_DEVICE", "4", 1);
  EXPECT_THAT(UnknownFlags(), Contains("SHOAL_NUM_DEVICE"));
  EXPECT_THAT(UnknownFlags(), Not(Contains("SHOAL_NUM_DEVICES")));
  unsetenv("SHOAL_NUM_DEVICE");
}

TEST(FlagsTest, TheWrongTypeIsOurBug) {
  EXPECT_EQ(IntFlag("SHOAL_TRACE").status().code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace shoal

#include "core/base/fingerprint.h"

#include "gtest/gtest.h"

namespace shoal {
namespace {

// Test vectors of the FNV reference code.
TEST(FingerprintTest, IsFnv1a) {
  EXPECT_EQ(Fingerprint(""), 0xcbf29ce484222325u);
  EXPECT_EQ(Fingerprint("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(Fingerprint("foobar"), 0x85944171f73967e8u);
}

}  // namespace
}  // namespace shoal

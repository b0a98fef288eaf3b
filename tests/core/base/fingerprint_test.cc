#include "core/base/fingerprint.h"

#include <set>
#include <string>

#include "gtest/gtest.h"

namespace shoal {
namespace {

// Test vectors of the FNV reference code.
TEST(FingerprintTest, IsFnv1a) {
  EXPECT_EQ(Fingerprint(""), 0xcbf29ce484222325u);
  EXPECT_EQ(Fingerprint("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(Fingerprint("foobar"), 0x85944171f73967e8u);
}

// Every bit of every byte counts, and so does the length, also where it is no multiple of eight.
TEST(FingerprintTest, OfData) {
  std::string data(37, '\0');
  std::set<uint64_t> seen = {FingerprintOfData(data)};
  for (size_t bit = 0; bit < 8 * data.size(); ++bit) {
    std::string other = data;
    other[bit / 8] = static_cast<char>(1 << bit % 8);
    EXPECT_TRUE(seen.insert(FingerprintOfData(other)).second) << bit;
  }
  for (size_t size = 0; size < data.size(); ++size)
    EXPECT_TRUE(seen.insert(FingerprintOfData(data.substr(0, size))).second) << size;
}

}  // namespace
}  // namespace shoal

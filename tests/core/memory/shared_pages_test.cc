#include "core/memory/shared_pages.h"

#include <unistd.h>

#include <cstring>

#include "core/memory/allocator.h"
#include "gtest/gtest.h"

namespace shoal {
namespace {

constexpr int64_t kPage = SharedPages::kLargePage;

class SharedPagesTest : public testing::Test {
 protected:
  void SetUp() override {
    pages_ = SharedPages::Enable(1);
    if (pages_ == nullptr) GTEST_SKIP() << "this system gives no large pages to shared memory";
  }
  SharedPages* pages_ = nullptr;
};

TEST_F(SharedPagesTest, WhatIsWrittenIsReadWhereTheFileIsMapped) {
  EXPECT_EQ(SharedPages::Enable(7), pages_);
  const char* elsewhere = MapSharedPages(pages_->fd(), pages_->size());
  ASSERT_NE(elsewhere, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(elsewhere) % kPage, 0u);
  for (int64_t bytes : {int64_t{4096}, kPage - 4096, kPage, 3 * kPage + 4096}) {
    char* block = static_cast<char*>(pages_->Map(bytes));
    ASSERT_NE(block, nullptr);
    EXPECT_TRUE(pages_->Holds(block) && pages_->Holds(block + bytes - 1));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % kPage, 0u);
    std::memset(block, 'x', bytes);
    const char* there = elsewhere + (block - pages_->base());
    EXPECT_EQ(there[0], 'x');
    EXPECT_EQ(there[bytes - 1], 'x');
    pages_->Unmap(block, bytes);
    EXPECT_EQ(there[0], 0);  // the memory went back
  }
}

TEST_F(SharedPagesTest, RangesAreUsedAgainAndGrowTogether) {
  void* blocks[4];
  for (void*& block : blocks) block = pages_->Map(kPage + 4096);
  for (int i : {2, 0, 1}) pages_->Unmap(blocks[i], kPage + 4096);
  EXPECT_EQ(pages_->Map(6 * kPage), blocks[0]);  // where three of two large pages each were
  pages_->Unmap(blocks[0], 6 * kPage);
  pages_->Unmap(blocks[3], kPage + 4096);
  EXPECT_EQ(pages_->Map(pages_->size() + kPage), nullptr);
}

TEST_F(SharedPagesTest, AllocatorsTakeTheirMemoryThere) {
  Allocator allocator("cpu:0", int64_t{1} << 30);
  for (size_t bytes : {100, 300000, 5000000}) {
    char* block = static_cast<char*>(allocator.Allocate(bytes, "test").value());
    EXPECT_TRUE(pages_->Holds(block)) << bytes;
    std::memset(block, 1, bytes);
    allocator.Free(block);
  }
}

}  // namespace
}  // namespace shoal

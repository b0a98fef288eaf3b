#include "core/memory/allocator.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <random>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shoal {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kGiB = int64_t{1} << 30;

TEST(AllocatorTest, BlocksAreAlignedDistinctAndWritable) {
  Allocator allocator("cpu:0", kGiB);
  std::map<char*, size_t> blocks;
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{65}, size_t{257}, size_t{4097},
                       size_t{262144}, size_t{262145}, size_t{3000001}, size_t{8} << 20}) {
    char* block = static_cast<char*>(allocator.Allocate(bytes, "test").value());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % Allocator::kAlignment, 0);
    if (bytes > 262144) EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % (2 << 20), 0);
    std::memset(block, 0x5a, bytes);
    EXPECT_TRUE(blocks.emplace(block, bytes).second);
  }
  char* end = nullptr;
  for (auto [block, bytes] : blocks) {
    EXPECT_GE(block, end);
    end = block + bytes;
  }
  for (auto [block, bytes] : blocks) allocator.Free(block);
  EXPECT_EQ(allocator.Stats().bytes_in_use, 0);
}

TEST(AllocatorTest, EverySmallSizeGetsARoomyEnoughBlock) {
  Allocator allocator("cpu:0", kGiB);
  for (size_t bytes = 0; bytes <= 262144 + 64; bytes += 37) {
    int64_t before = allocator.Stats().bytes_in_use;
    void* block = allocator.Allocate(bytes, "test").value();
    int64_t taken = allocator.Stats().bytes_in_use - before;
    EXPECT_GE(taken, static_cast<int64_t>(bytes));
    EXPECT_LE(taken, std::max<int64_t>(64, bytes * 5 / 4 + 4160)) << bytes;
    allocator.Free(block);
  }
}

TEST(AllocatorTest, AFreedLargeBlockIsUsedAgain) {
  Allocator allocator("cpu:0", kGiB);
  void* first = allocator.Allocate(5'000'000, "a").value();
  allocator.Free(first);
  EXPECT_GE(allocator.Stats().bytes_cached, 5'000'000);
  void* second = allocator.Allocate(4'999'000, "b").value();
  EXPECT_EQ(first, second);
  EXPECT_EQ(allocator.Stats().bytes_cached, 0);
  allocator.Free(second);
  allocator.Trim();
  EXPECT_EQ(allocator.Stats().bytes_cached, 0);
}

TEST(AllocatorTest, ASmallRequestDoesNotTakeAHugeCachedBlock) {
  Allocator allocator("cpu:0", kGiB);
  allocator.Free(allocator.Allocate(64 << 20, "a").value());
  void* block = allocator.Allocate(4 << 20, "b").value();
  EXPECT_EQ(allocator.Stats().bytes_in_use, 4 << 20);
  allocator.Free(block);
}

TEST(AllocatorTest, PassingTheLimitNamesRequestUseAndBiggestBlocks) {
  Allocator allocator("cpu:3", 64 << 20);
  void* big = allocator.Allocate(40 << 20, "jit_step result 0 f32[10485760]").value();
  void* small = allocator.Allocate(1000, "scratch").value();
  auto failed = allocator.Allocate(30 << 20, "jit_step result 1");
  ASSERT_EQ(failed.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(failed.status().message()), HasSubstr("cpu:3"));
  EXPECT_THAT(std::string(failed.status().message()), HasSubstr("31457280 bytes for jit_step result 1"));
  EXPECT_THAT(std::string(failed.status().message()),
              HasSubstr("41943040 bytes jit_step result 0 f32[10485760]"));
  EXPECT_THAT(std::string(failed.status().message()), HasSubstr("SHOAL_MEMORY_LIMIT"));
  allocator.Free(big);
  void* again = allocator.Allocate(30 << 20, "jit_step result 1").value();  // still works afterwards
  allocator.Free(again);
  allocator.Free(small);
  EXPECT_EQ(allocator.Allocate(SIZE_MAX - 5, "absurd").status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(AllocatorTest, CachedBlocksMakeRoomUnderTheLimit) {
  Allocator allocator("cpu:0", 64 << 20);
  allocator.Free(allocator.Allocate(6 << 20, "a").value());
  EXPECT_GT(allocator.Stats().bytes_cached, 0);
  void* block = allocator.Allocate(62 << 20, "b").value();
  EXPECT_EQ(allocator.Stats().bytes_cached, 0);
  allocator.Free(block);
}

TEST(AllocatorTest, StatsCountPeakAndLargest) {
  Allocator allocator("cpu:0", kGiB);
  void* a = allocator.Allocate(2 << 20, "a").value();
  void* b = allocator.Allocate(4 << 20, "b").value();
  allocator.Free(a);
  allocator.Free(b);
  MemoryStats stats = allocator.Stats();
  EXPECT_EQ(stats.peak_bytes_in_use, 6 << 20);
  EXPECT_EQ(stats.largest_allocation, 4 << 20);
  EXPECT_EQ(stats.allocations, 2);
  EXPECT_EQ(stats.bytes_limit, kGiB);
}

TEST(AllocatorTest, ThreadsKeepTheirBytes) {
  Allocator allocator("cpu:0", kGiB);
  auto work = [&](int seed) {
    std::mt19937 random(seed);
    std::vector<std::pair<unsigned char*, size_t>> held;
    for (int i = 0; i < 4000; ++i) {
      size_t bytes = random() % (i % 50 == 0 ? 600'000 : 3'000);
      auto* block = static_cast<unsigned char*>(allocator.Allocate(bytes, "t").value());
      std::memset(block, seed, bytes);
      held.emplace_back(block, bytes);
      if (held.size() > 60) {
        std::swap(held[random() % held.size()], held.back());
        auto [old, size] = held.back();
        held.pop_back();
        EXPECT_TRUE(std::all_of(old, old + size, [&](unsigned char c) { return c == seed; }));
        allocator.Free(old);
      }
    }
    for (auto [block, bytes] : held) allocator.Free(block);
  };
  std::vector<std::thread> threads;
  for (int t = 1; t <= 4; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allocator.Stats().bytes_in_use, 0);
}

// The budget of the dispatch path: a small block costs far less than a microsecond. Generous, for busy
// machines.
TEST(AllocatorTest, SmallBlocksAreCheap) {
  Allocator allocator("cpu:0", kGiB);
  auto best = std::chrono::nanoseconds::max();
  for (int round = 0; round < 5; ++round) {
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 10'000; ++i) allocator.Free(allocator.Allocate(32, "x").value());
    best = std::min<std::chrono::nanoseconds>(best, (std::chrono::steady_clock::now() - start) / 10'000);
  }
  RecordProperty("nanoseconds", static_cast<int>(best.count()));
  EXPECT_LT(best, std::chrono::nanoseconds(1000));
}

}  // namespace
}  // namespace shoal

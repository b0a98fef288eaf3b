#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "collectives/engine/assist.h"
#include "collectives/engine/wire_format.h"
#include "core/tasks/arena.h"
#include "core/tasks/future.h"

namespace shoal {
namespace {

TEST(AssistTest, EveryIndexOnce) {
  for (int64_t count : {0, 1, 2, 100, 1001}) {
    for (int helpers : {0, 1, 3, 50}) {
      std::vector<std::atomic<int>> seen(count);
      RunAssisted(count, helpers, [&](int64_t i) { ++seen[i]; });
      for (const std::atomic<int>& times : seen) ASSERT_EQ(times, 1);
    }
  }
}

// Every worker is busy until the loop has ended: it must not wait for them.
TEST(AssistTest, BusyArenaDoesNotHoldItUp) {
  std::atomic<bool> release{false};
  std::vector<Future> busy;
  for (int w = 0; w < 2 * Arena::Get().size(); ++w) {
    auto promise = std::make_shared<Promise>();
    busy.push_back(promise->future());
    Arena::Get().Submit([&release, promise] {
      while (!release) std::this_thread::yield();
      promise->Set(absl::OkStatus());
    });
  }
  std::atomic<int> done{0};
  RunAssisted(10, 4, [&](int64_t) { ++done; });
  EXPECT_EQ(done, 10);
  release = true;
  EXPECT_TRUE(Join(busy).AwaitFor(absl::Seconds(20)));
}

TEST(WireFormatTest, RoundTrips) {
  Announcement sent{{1, -2, 3, 4, 5}, 6, 7, "all-reduce.3 f32[4,8]"}, got;
  ASSERT_TRUE(Decode(Encode(sent), &got));
  EXPECT_EQ(got.key, sent.key);
  EXPECT_EQ(got.program, 6u);
  EXPECT_EQ(got.operation, 7u);
  EXPECT_EQ(got.name, sent.name);
  AbortNotice notice{8, 9, absl::UnavailableError("process 1 has ended")}, same;
  ASSERT_TRUE(Decode(Encode(notice), &same));
  EXPECT_EQ(same.communicator, 8u);
  EXPECT_EQ(same.run, 9);
  EXPECT_EQ(same.why, notice.why);
  EXPECT_FALSE(Decode(Encode(notice), &got));
  EXPECT_FALSE(Decode(Encode(sent), &same));
}

TEST(WireFormatTest, CutAndCorruptBytesAreRefused) {
  const std::vector<char> bytes = Encode(Announcement{{1, 2, 3, 4, 5}, 6, 7, "name"});
  Announcement announcement;
  AbortNotice notice;
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(Decode(absl::MakeConstSpan(bytes).first(size), &announcement));
    EXPECT_FALSE(Decode(absl::MakeConstSpan(bytes).first(size), &notice));
  }
  std::vector<char> longer = bytes;
  longer.push_back(0);
  EXPECT_FALSE(Decode(longer, &announcement));
  EXPECT_LE(Encode(Announcement{{}, 0, 0, std::string(100000, 'x')}).size(), 1000u);
}

TEST(CollectiveKeyTest, EveryFieldCounts) {
  const CollectiveKey key{1, 2, 3, 4, 5};
  EXPECT_EQ(key.Hash(), (CollectiveKey{1, 2, 3, 4, 5}).Hash());
  EXPECT_NE(key.Hash(), (CollectiveKey{0, 2, 3, 4, 5}).Hash());
  EXPECT_NE(key.Hash(), (CollectiveKey{1, 3, 2, 4, 5}).Hash());
  EXPECT_NE(key.Hash(), (CollectiveKey{1, 2, 3, 5, 4}).Hash());
  EXPECT_NE(key.Hash(), (CollectiveKey{1, 2, 3, 4, 6}).Hash());
}

}  // namespace
}  // namespace shoal

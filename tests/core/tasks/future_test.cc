#include "core/tasks/future.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace shoal {
namespace {

TEST(FutureTest, DefaultIsReadyAndOk) {
  Future future;
  EXPECT_TRUE(future.IsReady());
  EXPECT_TRUE(future.status().ok());
  EXPECT_TRUE(future.Await().ok());
}

TEST(FutureTest, ErrorIsReady) {
  Future future(absl::UnavailableError("gone"));
  ASSERT_TRUE(future.IsReady());
  EXPECT_EQ(future.status().message(), "gone");
}

TEST(FutureTest, CallbackRunsOnceAtSet) {
  Promise promise;
  Future future = promise.future();
  int calls = 0;
  future.Then([&](const absl::Status& status) { calls += status.ok() ? 1 : 100; });
  EXPECT_FALSE(future.IsReady());
  EXPECT_EQ(calls, 0);
  EXPECT_TRUE(promise.Set(absl::OkStatus()));
  EXPECT_FALSE(promise.Set(absl::InternalError("late")));
  EXPECT_EQ(calls, 1);
  future.Then([&](const absl::Status&) { calls += 10; });
  EXPECT_EQ(calls, 11);
}

TEST(FutureTest, DroppedPromiseIsAnError) {
  Future future;
  {
    Promise promise;
    future = promise.future();
  }
  EXPECT_EQ(future.Await().code(), absl::StatusCode::kInternal);
}

TEST(FutureTest, MoveAssignedPromiseDropsWhatItHeld) {
  Promise promise;
  Future first = promise.future();
  promise = Promise();
  ASSERT_TRUE(first.IsReady());
  EXPECT_EQ(first.status().code(), absl::StatusCode::kInternal);
  Promise moved = std::move(promise);
  Future second = moved.future();
  EXPECT_FALSE(second.IsReady());
  moved.Set(absl::OkStatus());
  EXPECT_TRUE(second.status().ok());
}

TEST(FutureTest, CallbackMayDropThePromise) {
  auto promise = std::make_unique<Promise>();
  Promise* raw = promise.get();
  promise->future().Then([&](const absl::Status&) { promise.reset(); });
  raw->Set(absl::OkStatus());
  EXPECT_EQ(promise, nullptr);
}

TEST(FutureTest, AwaitForTimesOut) {
  Promise promise;
  EXPECT_FALSE(promise.future().AwaitFor(absl::Milliseconds(3)));
  promise.Set(absl::OkStatus());
  EXPECT_TRUE(promise.future().AwaitFor(absl::InfiniteDuration()));
}

TEST(FutureTest, WaitersOnManyThreadsSeeWhatWasWrittenBefore) {
  for (int round = 0; round < 100; ++round) {
    Promise promise;
    int data = 0;
    std::atomic<int> sum{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&, future = promise.future()] {
        if (future.Await().ok()) sum += data;
      });
    }
    promise.future().Then([&](const absl::Status&) { sum += data; });
    data = 7;
    promise.Set(absl::OkStatus());
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(sum, 28);
  }
}

TEST(JoinTest, FirstErrorInOrderWins) {
  EXPECT_TRUE(Join({}).IsReady());
  Promise a, b, c;
  Future joined = Join({a.future(), b.future(), c.future()});
  c.Set(absl::AbortedError("third"));
  b.Set(absl::UnavailableError("second"));
  EXPECT_FALSE(joined.IsReady());
  a.Set(absl::OkStatus());
  ASSERT_TRUE(joined.IsReady());
  EXPECT_EQ(joined.status().message(), "second");
}

TEST(JoinTest, ConcurrentSets) {
  for (int round = 0; round < 100; ++round) {
    std::vector<Promise> promises(4);
    std::vector<Future> futures;
    for (Promise& promise : promises) futures.push_back(promise.future());
    Future joined = Join(futures);
    std::vector<std::thread> threads;
    for (Promise& promise : promises) threads.emplace_back([&] { promise.Set(absl::OkStatus()); });
    EXPECT_TRUE(joined.Await().ok());
    for (std::thread& thread : threads) thread.join();
  }
}

}  // namespace
}  // namespace shoal

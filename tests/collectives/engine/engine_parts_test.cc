// The parts of the engine that need no transport: loops that workers help in, control messages, the flight
// recorder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "collectives/engine/assist.h"
#include "collectives/engine/flight_recorder.h"
#include "collectives/engine/hindrances.h"
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
  Announcement sent{{{1, -2}, 3, 4, 5}, 6, 7, "all-reduce.3 f32[4,8]"}, got;
  ASSERT_TRUE(Decode(Encode(sent), &got));
  EXPECT_EQ(got.key, sent.key);
  EXPECT_EQ(got.program, 6u);
  EXPECT_EQ(got.operation, 7u);
  EXPECT_EQ(got.name, sent.name);
  AbortNotice notice{{8, 9}, absl::UnavailableError("process 1 has ended")}, same;
  ASSERT_TRUE(Decode(Encode(notice), &same));
  EXPECT_EQ(same.run.communicator, 8u);
  EXPECT_EQ(same.run.id, 9);
  EXPECT_EQ(same.why, notice.why);
  EXPECT_FALSE(Decode(Encode(notice), &got));
  Question question{{{10, 11}, 12, 13, 14}, 15}, asked;
  ASSERT_TRUE(Decode(Encode(question), &asked));
  EXPECT_EQ(asked.key, question.key);
  EXPECT_EQ(asked.program, 15u);
  EXPECT_FALSE(Decode(Encode(question), &notice));
  for (int bit = 0; bit < 7; ++bit) {
    Answer answer{question,
                  bit == 0,
                  bit == 1,
                  bit == 2,
                  bit == 3,
                  bit == 4,
                  {12, -13},
                  bit == 5,
                  bit == 6,
                  {{16, 17}, 18, 19, 20},
                  "is in no collective"};
    Answer answered;
    ASSERT_TRUE(Decode(Encode(answer), &answered));
    EXPECT_EQ(answered.question.key, question.key);
    EXPECT_EQ(answered.question.program, 15u);
    EXPECT_EQ(answered.hindered, answer.hindered);
    EXPECT_EQ(answered.needs_you, answer.needs_you);
    EXPECT_EQ(answered.instead, answer.instead);
    EXPECT_EQ(answered.expected, answer.expected);
    EXPECT_EQ(answered.over, answer.over);
    EXPECT_EQ(answered.one_thread, answer.one_thread);
    EXPECT_EQ(answered.waits, answer.waits);
    EXPECT_EQ(answered.waits_for_you, answer.waits_for_you);
    EXPECT_EQ(answered.waits_in.communicator, 12u);
    EXPECT_EQ(answered.waits_in.id, -13);
    EXPECT_EQ(answered.doing, answer.doing);
  }
  Hindrance hindrance{2, {{10, 11}, 12, 13, 14}, 3, {{10, 11}, 15, 16, 17}, "is in 'all-reduce'"}, passed_on;
  ASSERT_TRUE(Decode(Encode(hindrance), &passed_on));
  EXPECT_EQ(passed_on.waits, 2);
  EXPECT_EQ(passed_on.waits_in, hindrance.waits_in);
  EXPECT_EQ(passed_on.awaited, 3);
  EXPECT_EQ(passed_on.instead, hindrance.instead);
  EXPECT_EQ(passed_on.doing, hindrance.doing);
  hindrance.instead.run.id = 12;  // of another run
  EXPECT_FALSE(Decode(Encode(hindrance), &passed_on));
  Goodbye goodbye{"ValueError: no"}, said;
  ASSERT_TRUE(Decode(Encode(goodbye), &said));
  EXPECT_EQ(said.why, goodbye.why);
  EXPECT_EQ(said.missed, "");
  Goodbye after;
  ASSERT_TRUE(Decode(Encode(Goodbye{"", "process 3 died"}), &after));
  EXPECT_EQ(after.missed, "process 3 died");
  EXPECT_EQ(after.why, "");
  EXPECT_FALSE(Decode(Encode(goodbye), &asked));
  EXPECT_FALSE(Decode(Encode(sent), &same));
}

// Who waits in a collective (of its own number) for whom, who is in another.
Hindrance Waits(int64_t process, int64_t in, int64_t awaited, int64_t instead, int64_t run = 1) {
  return {process, {{1, run}, in, 0, 0}, awaited, {{1, run}, instead, 0, 0}, absl::StrCat("is in ", instead)};
}

std::vector<int64_t> Awaited(const std::vector<Hindrance>& ring) {
  std::vector<int64_t> awaited;
  for (const Hindrance& hindrance : ring) awaited.push_back(hindrance.awaited);
  return awaited;
}

TEST(HindrancesTest, OnlyRingsAreFound) {
  Hindrances known;
  const auto ring = [&](int64_t process, int64_t in) {
    return Awaited(known.RingThrough(process, {{1, 1}, in, 0, 0}));
  };
  for (const Hindrance& fact :
       {Waits(2, 12, 0, 10), Waits(0, 10, 1, 11), Waits(0, 10, 1, 13), Waits(1, 13, 0, 14)})
    known.Add(fact);
  EXPECT_THAT(ring(0, 10), testing::IsEmpty());
  known.Add(Waits(1, 11, 2, 15));  // not what it waits in
  EXPECT_THAT(ring(0, 10), testing::IsEmpty());
  known.Add(Waits(1, 11, 2, 12, /*run=*/2));
  EXPECT_THAT(ring(0, 10), testing::IsEmpty());
  known.Add(Waits(1, 11, 2, 12));
  EXPECT_THAT(ring(0, 10), testing::ElementsAre(1, 2, 0));
  EXPECT_THAT(ring(1, 11), testing::ElementsAre(2, 0, 1));
  EXPECT_THAT(ring(1, 13), testing::IsEmpty());  // leads nowhere
  EXPECT_THAT(ring(3, 10), testing::IsEmpty());
}

TEST(HindrancesTest, FactsAreKeptOnceAndForgotten) {
  Hindrances known;
  for (int i = 0; i < 2; ++i) known.Add(Waits(0, 10, 1, 11));
  known.Add(Waits(0, 10, 1, 11, /*run=*/2));
  EXPECT_THAT(known.Of({1, 1}), testing::SizeIs(1));
  known.ForgetRuns([](ProgramRun run) { return run.id == 1; });
  EXPECT_THAT(known.Of({1, 1}), testing::IsEmpty());
  EXPECT_THAT(known.Of({1, 2}), testing::SizeIs(1));
  for (int64_t i = 0; i < 1000; ++i) known.Add(Waits(i, 10, i + 1, 11));
  EXPECT_THAT(known.Of({1, 1}), testing::SizeIs(Hindrances::kMost));
  EXPECT_EQ(known.Of({1, 1}).back().waits, 999);
}

TEST(WireFormatTest, CutAndCorruptBytesAreRefused) {
  const std::vector<char> bytes = Encode(Announcement{{{1, 2}, 3, 4, 5}, 6, 7, "name"});
  Announcement announcement;
  AbortNotice notice;
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(Decode(absl::MakeConstSpan(bytes).first(size), &announcement));
    EXPECT_FALSE(Decode(absl::MakeConstSpan(bytes).first(size), &notice));
  }
  EXPECT_FALSE(Decode(Encode(AbortNotice{{1, 2}, absl::OkStatus()}), &notice));
  std::vector<char> longer = bytes;
  longer.push_back(0);
  EXPECT_FALSE(Decode(longer, &announcement));
  EXPECT_LE(Encode(Announcement{{}, 0, 0, std::string(100000, 'x')}).size(), 1000u);
}

TEST(FlightRecorderTest, TellsWhatWasLast) {
  Topology topology;
  topology.self = ProcessId(0);
  topology.processes.resize(3);
  FlightRecorder recorder(topology);
  const absl::Time start = absl::Now();
  const auto announcement = [](int64_t run, int64_t number) {
    return Announcement{{{1, run}, number, 0, 0}, 6, 7, absl::StrCat("all-reduce.", number)};
  };
  for (int64_t run = 0; run < 1000; ++run) {
    recorder.Started(announcement(run, 0), start);
    recorder.Ended(announcement(run, 0).key, absl::OkStatus(), start + absl::Seconds(1));
  }
  recorder.Started(announcement(1000, 1), start);
  recorder.Heard(ProcessId(2), announcement(999, 0), start);
  const absl::Time now = start + absl::Seconds(3);
  EXPECT_EQ(recorder.LastHeard(ProcessId(2), now), "was last heard of 3s ago, at 'all-reduce.0' of run 999");
  EXPECT_EQ(recorder.LastHeard(ProcessId(1), now), "has not been heard of in any collective");
  const std::string text = recorder.ToString(now);
  EXPECT_THAT(text,
              testing::HasSubstr("run 999 collective 0 instance 0 group 0 'all-reduce.0' started 3s ago, "
                                 "ended 2s ago: OK\nrun 1000 collective 1 instance 0 group 0 "
                                 "'all-reduce.1' started 3s ago, under way\nprocess 1 ("));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("run 500 ")));
}

TEST(CollectiveKeyTest, EveryFieldCounts) {
  const CollectiveKey key{{1, 2}, 3, 4, 5};
  EXPECT_EQ(key.Hash(), (CollectiveKey{{1, 2}, 3, 4, 5}).Hash());
  EXPECT_NE(key.Hash(), (CollectiveKey{{0, 2}, 3, 4, 5}).Hash());
  EXPECT_NE(key.Hash(), (CollectiveKey{{1, 3}, 2, 4, 5}).Hash());
  EXPECT_NE(key.Hash(), (CollectiveKey{{1, 2}, 3, 5, 4}).Hash());
  EXPECT_NE(key.Hash(), (CollectiveKey{{1, 2}, 3, 4, 6}).Hash());
}

}  // namespace
}  // namespace shoal

// What goes wrong inside a job, and what every participant is told. Real processes are in
// tests/collectives/processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <numeric>

#include "tests/collectives/communicator/job.h"

namespace shoal {
namespace {

using testing::HasSubstr;

CollectiveOp AllReduce(int64_t elements, int64_t number, uint64_t program = 1) {
  CollectiveOp op{CollectiveKind::kAllReduce};
  op.arrays = {{ElementType::kS32, elements}};
  op.number = number;
  op.program_fingerprint = program;
  op.name = absl::StrCat("all-reduce.", number, " s32[", elements, "]");
  return op;
}

CollectiveOp Permute(int64_t elements, int64_t number, int source, int target) {
  CollectiveOp op = AllReduce(elements, number);
  op.kind = CollectiveKind::kCollectivePermute;
  op.pairs = {{PartitionId(source), PartitionId(target)}};
  op.name = absl::StrCat("collective-permute.", number, " s32[", elements, "]");
  return op;
}

CollectiveOptions Timeout(absl::Duration timeout) {
  CollectiveOptions options;
  options.timeout = timeout;
  return options;
}

// Buffers of one partition, filled with `value`.
struct Memory {
  Memory(int64_t elements, int32_t value) : in{Bytes(elements * 4)}, out{Bytes(elements * 4)} {
    for (int64_t i = 0; i < elements; ++i) std::memcpy(&in[0][i * 4], &value, 4);
  }
  bool Holds(int32_t value) const {
    for (size_t i = 0; i < out[0].size(); i += 4) {
      if (std::memcmp(&out[0][i], &value, 4) != 0) return false;
    }
    return true;
  }
  std::vector<Bytes> in, out;
};

// A process dies at its k-th frame, at every early k: nobody hangs, no result that is called good is wrong,
// and errors name the dead one.
TEST(FaultsTest, DeathAtAnyFrame) {
  for (WireKind wire : {WireKind::kInProcess, WireKind::kInProcessPieces, WireKind::kInProcessPushes}) {
    for (int64_t k : {0, 1, 2, 4, 9}) {
      SCOPED_TRACE(testing::Message() << NameOfWire(wire) << " dies after " << k);
      InProcessHub::Faults faults;
      faults.dies = 1;
      faults.dies_after = k;
      Job job({1, 1, 1}, wire, Timeout(absl::Milliseconds(300)), faults);
      const std::vector<CollectiveOp> ops = {AllReduce(3, 0), AllReduce(20000, 1)};
      std::vector<Memory> memory;
      std::vector<Future> futures;
      memory.reserve(6);
      for (const CollectiveOp& op : ops) {
        for (int p = 0; p < 3; ++p) {
          memory.emplace_back(op.arrays[0].elements, p + 1);
          futures.push_back(job.Start(op, p, 1, memory.back().in, &memory.back().out));
        }
      }
      for (size_t i = 0; i < futures.size(); ++i) {
        ASSERT_TRUE(futures[i].AwaitFor(absl::Seconds(10))) << "future " << i;
        if (futures[i].status().ok()) {
          EXPECT_TRUE(memory[i].Holds(6)) << "future " << i;
        } else if (i % 3 != 1) {
          EXPECT_THAT(futures[i].status().ToString(), HasSubstr("process 1 ")) << "future " << i;
        }
      }
    }
  }
}

// In the first round process 0 only sends to process 1: large data, kept until that one comes, which it never
// does.
TEST(FaultsTest, DeathOfOneThatIsOnlySentToIsNoticed) {
  constexpr int64_t kPart = 20000;
  CollectiveOptions options = Timeout(absl::Seconds(60));
  options.algorithms = "reduce-scatter=pairwise";
  Job job({1, 1, 1}, WireKind::kInProcessPushes, options);
  CollectiveOp op{CollectiveKind::kReduceScatter};
  op.arrays = {{ElementType::kS32, kPart, {1, kPart}, {1, kPart}}};
  op.program_fingerprint = 1;
  op.name = "reduce-scatter.0 s32[20000]";
  Memory first(3 * kPart, 1), third(3 * kPart, 1);
  const std::vector<Future> futures = {job.Start(op, 0, 1, first.in, &first.out),
                                       job.Start(op, 2, 1, third.in, &third.out)};
  absl::SleepFor(absl::Milliseconds(50));
  job.hub().Kill(ProcessId(1));
  for (const Future& future : futures) {
    ASSERT_TRUE(future.AwaitFor(absl::Seconds(10)));
    EXPECT_THAT(future.status().ToString(), HasSubstr("process 1 "));
  }
}

TEST(FaultsTest, PairsBeyondTheProgramAreRefused) {
  Job job({1, 1}, WireKind::kInProcess);
  for (const auto& [source, target] : {std::pair(0, 1 << 20), std::pair(-1, 0)}) {
    const CollectiveOp op = Permute(5, 0, source, target);
    Memory memory(5, 1);
    const Future future = job.Start(op, 0, 1, memory.in, &memory.out);
    ASSERT_TRUE(future.AwaitFor(absl::Seconds(10)));
    EXPECT_THAT(future.status().ToString(), HasSubstr("the program has 2"));
  }
}

TEST(FaultsTest, HealthNamesTheLostProcessAndLaterRunsFail) {
  Job job({1, 1}, WireKind::kInProcess, Timeout(absl::Seconds(20)));
  EXPECT_TRUE(job.world(0).Health().ok());
  job.world(0).ProcessFailed(ProcessId(1), absl::UnavailableError("process 1 was taken away"));
  const CollectiveOp op = AllReduce(5, 0);
  Memory memory(5, 1);
  const Future future = job.Start(op, 0, 9, memory.in, &memory.out);
  ASSERT_TRUE(future.AwaitFor(absl::Seconds(10)));
  EXPECT_THAT(future.status().ToString(), HasSubstr("process 1 was taken away"));
  EXPECT_THAT(future.status().ToString(), HasSubstr("all-reduce.0 s32[5]"));
  EXPECT_EQ(job.world(0).Health().message(), "process 1 was taken away");
}

TEST(FaultsTest, MissingDeviceOfTheSameProcessIsNamed) {
  Job job({2, 1}, WireKind::kInProcess, Timeout(absl::Milliseconds(200)));
  const CollectiveOp op = AllReduce(5, 0);
  Memory first(5, 1), third(5, 1);
  const Future a = job.Start(op, 0, 1, first.in, &first.out), b = job.Start(op, 2, 1, third.in, &third.out);
  ASSERT_TRUE(a.AwaitFor(absl::Seconds(10)));
  ASSERT_TRUE(b.AwaitFor(absl::Seconds(10)));
  EXPECT_FALSE(a.status().ok());
  EXPECT_FALSE(b.status().ok());
  // Whichever noticed first told the other.
  EXPECT_THAT(a.status().ToString(), testing::AnyOf(HasSubstr("in process 0 partition 1 did not come"),
                                                    HasSubstr("process 0 (testhost")));
}

TEST(FaultsTest, AbortFailsWhatWaitsAndWhatComesLater) {
  for (const std::vector<int>& devices : {std::vector<int>{3}, {2, 1}}) {
    Job job(devices, WireKind::kInProcess, Timeout(absl::Seconds(20)));
    const CollectiveOp op = AllReduce(5, 0);
    std::vector<Memory> memory(3, Memory(5, 1));
    const Future early = job.Start(op, 0, 7, memory[0].in, &memory[0].out);
    job.communicator(0).Abort(RunId(7), absl::InvalidArgumentError("a device failed"));
    ASSERT_TRUE(early.AwaitFor(absl::Seconds(10)));
    EXPECT_EQ(early.status().message(), "a device failed");
    const Future late = job.Start(op, 2, 7, memory[2].in, &memory[2].out);
    if (devices.size() == 1) {
      ASSERT_TRUE(late.IsReady());
    } else {
      ASSERT_TRUE(late.AwaitFor(absl::Seconds(10)));
    }
    EXPECT_THAT(std::string(late.status().message()),
                testing::MatchesRegex(devices.size() == 1 ? "a device failed"
                                                          : "process 0 .testhost, pid .*: a device failed"));
    // Other runs are not concerned.
    std::vector<Future> next;
    for (int p = 0; p < 3; ++p) next.push_back(job.Start(op, p, 8, memory[p].in, &memory[p].out));
    ASSERT_TRUE(Join(next).AwaitFor(absl::Seconds(10)));
    EXPECT_TRUE(Join(next).status().ok()) << Join(next).status();
    EXPECT_TRUE(memory[1].Holds(3));
  }
}

// A program that ends before its collective: who waits is told at once, and why it ended. What it sent before
// counts.
TEST(FaultsTest, WhoLeavesIsMissedAtOnce) {
  for (WireKind wire : {WireKind::kInProcess, WireKind::kInProcessPieces, WireKind::kShm}) {
    Job job({1, 1, 1}, wire, Timeout(absl::Seconds(60)));
    CollectiveOp gift{CollectiveKind::kCollectivePermute};
    gift.arrays = {{ElementType::kS32, 5}};
    gift.pairs = {{PartitionId(1), PartitionId(0)}};
    const CollectiveOp op = AllReduce(5, 1);
    std::vector<Memory> memory(3, Memory(5, 1)), gifts(3, Memory(5, 9));
    const Future given = job.Start(gift, 1, 1, gifts[1].in, &gifts[1].out);
    ASSERT_TRUE(given.AwaitFor(absl::Seconds(10)));
    const Future waits = job.Start(op, 2, 2, memory[2].in, &memory[2].out);
    job.world(1).Leave("ValueError: no data", absl::ZeroDuration());
    ASSERT_TRUE(waits.AwaitFor(absl::Seconds(5)));
    EXPECT_THAT(
        waits.status().ToString(),
        testing::ContainsRegex("UNAVAILABLE: process 1 .testhost, pid .* has left the job: its program "
                               "ended by ValueError: no data; process 2 .* was in 'all-reduce.1"));
    const Future taken = job.Start(gift, 0, 1, gifts[0].in, &gifts[0].out);
    ASSERT_TRUE(taken.AwaitFor(absl::Seconds(5)));
    EXPECT_TRUE(taken.status().ok()) << taken.status();
    EXPECT_TRUE(gifts[0].Holds(9));
    // The others still have each other.
    CollectiveOp pair = AllReduce(5, 2);
    pair.groups = {{PartitionId(0), PartitionId(2)}, {PartitionId(1)}};
    const Future a = job.Start(pair, 0, 3, memory[0].in, &memory[0].out);
    const Future b = job.Start(pair, 2, 3, memory[2].in, &memory[2].out);
    ASSERT_TRUE(Join({a, b}).AwaitFor(absl::Seconds(10)));
    EXPECT_TRUE(memory[2].Holds(2)) << b.status();
  }
}

// Programs of one thread that ask for other runs, each of which waits for ever.
TEST(FaultsTest, OtherOrderIsNamedOnBothSides) {
  Job job({1, 1}, WireKind::kShm, Timeout(absl::Seconds(60)));
  const CollectiveOp first = AllReduce(5, 0, 1), second = AllReduce(7, 0, 2);
  Memory a(5, 1), b(7, 1);
  job.communicator(0).Expect(RunId(11));
  job.communicator(1).Expect(RunId(22));
  const Future here = job.Start(first, 0, 11, a.in, &a.out), there = job.Start(second, 1, 22, b.in, &b.out);
  for (const Future& future : {here, there}) {
    ASSERT_TRUE(future.AwaitFor(absl::Seconds(5)));
    EXPECT_EQ(future.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(future.status().ToString(), HasSubstr("'all-reduce.0 s32[5]' of run 11"));
    EXPECT_THAT(future.status().ToString(), HasSubstr("'all-reduce.0 s32[7]' of run 22"));
  }
}

// The same waits, but each side has been asked for the other's run too, and is only slow to come to it.
TEST(FaultsTest, SlowIsNotOtherOrder) {
  Job job({1, 1}, WireKind::kShm, Timeout(absl::Seconds(60)));
  const CollectiveOp first = AllReduce(5, 0, 1), second = AllReduce(7, 0, 2);
  std::vector<Memory> a(2, Memory(5, 1)), b(2, Memory(7, 1));
  for (int p : {0, 1}) {
    job.communicator(p).Expect(RunId(11));
    job.communicator(p).Expect(RunId(22));
  }
  std::vector<Future> futures = {job.Start(first, 0, 11, a[0].in, &a[0].out),
                                 job.Start(second, 1, 22, b[1].in, &b[1].out)};
  EXPECT_FALSE(Join(futures).AwaitFor(absl::Seconds(3)));
  futures.push_back(job.Start(first, 1, 11, a[1].in, &a[1].out));
  futures.push_back(job.Start(second, 0, 22, b[0].in, &b[0].out));
  ASSERT_TRUE(Join(futures).AwaitFor(absl::Seconds(10)));
  EXPECT_TRUE(Join(futures).status().ok()) << Join(futures).status();
  EXPECT_TRUE(b[0].Holds(2));
}

// A partition that does its collectives, all of them if not these, one after the other, so many of which it
// has come to.
struct InOrder : CollectiveOrder {
  explicit InOrder(std::vector<int64_t> came_to, std::vector<int64_t> own = {})
      : came_to(std::move(came_to)), own(std::move(own)) {}
  bool Precludes(int64_t at, int64_t number, int64_t instance, int64_t group) const override {
    const auto is_in = [](const std::vector<int64_t>& list, int64_t one) {
      return std::find(list.begin(), list.end(), one) != list.end();
    };
    EXPECT_TRUE(is_in(came_to, at));
    return instance == 0 && group == 0 && !is_in(came_to, number) && (own.empty() || is_in(own, number));
  }
  const std::vector<int64_t> came_to, own;
};

// The first partition is in one collective and all others are in another of the same run.
TEST(FaultsTest, DifferentCollectivesOfARunAreNamedOnAllSides) {
  for (const std::vector<int>& devices : {std::vector<int>{1, 1}, {2, 2}, {1, 1, 1, 1}, {3, 1}, {4}}) {
    for (const char* algorithm : {"", "all-reduce=ring"}) {
      SCOPED_TRACE(testing::Message() << testing::PrintToString(devices) << algorithm);
      CollectiveOptions options = Timeout(absl::Seconds(60));
      options.algorithms = algorithm;
      Job job(devices, WireKind::kShm, options);
      const CollectiveOp first = AllReduce(5, 0), second = AllReduce(5, 1);
      const InOrder at_first({0}), at_second({1});
      std::vector<Memory> memory(job.partitions(), Memory(5, 1));
      std::vector<Future> futures = {
          job.Start(first, 0, 1, memory[0].in, &memory[0].out, 0, nullptr, &at_first)};
      for (int p = 1; p < job.partitions(); ++p)
        futures.push_back(job.Start(second, p, 1, memory[p].in, &memory[p].out, 0, nullptr, &at_second));
      for (const Future& future : futures) {
        ASSERT_TRUE(future.AwaitFor(absl::Seconds(5)));
        EXPECT_EQ(future.status().code(), absl::StatusCode::kFailedPrecondition);
        EXPECT_THAT(future.status().ToString(), HasSubstr("process 0 (testhost, pid"));
        EXPECT_THAT(future.status().ToString(), HasSubstr("'all-reduce.0 s32[5]'"));
        EXPECT_THAT(future.status().ToString(), HasSubstr("'all-reduce.1 s32[5]'"));
      }
      std::vector<Future> next;
      for (int p = 0; p < job.partitions(); ++p)
        next.push_back(job.Start(first, p, 2, memory[p].in, &memory[p].out));
      ASSERT_TRUE(Join(next).AwaitFor(absl::Seconds(10)));
      EXPECT_TRUE(memory[0].Holds(job.partitions())) << Join(next).status();
    }
  }
}

// Each partition is in a collective with the next one, which is in one with the one after it.
TEST(FaultsTest, RingsOfProcessesAreNamed) {
  for (const int n : {3, 5}) {
    SCOPED_TRACE(n);
    Job job(std::vector<int>(n, 1), WireKind::kShm, Timeout(absl::Seconds(60)));
    std::vector<Memory> memory(n, Memory(5, 1));
    std::vector<std::unique_ptr<InOrder>> orders;
    std::vector<CollectiveOp> ops;
    std::vector<Future> futures;
    for (int p = 0; p < n; ++p) {
      ops.push_back(AllReduce(5, p));
      ops.back().groups = {{PartitionId(p), PartitionId((p + 1) % n)}};
      orders.push_back(std::make_unique<InOrder>(std::vector<int64_t>{p}));
    }
    for (int p = 0; p < n; ++p)
      futures.push_back(job.Start(ops[p], p, 1, memory[p].in, &memory[p].out, 0, nullptr, orders[p].get()));
    for (const Future& future : futures) {
      ASSERT_TRUE(future.AwaitFor(absl::Seconds(n + 3)));
      EXPECT_EQ(future.status().code(), absl::StatusCode::kFailedPrecondition);
      for (int p = 0; p < n; ++p) {
        EXPECT_THAT(future.status().ToString(), HasSubstr(absl::StrCat("process ", p, " (testhost, pid")));
        EXPECT_THAT(future.status().ToString(), HasSubstr(absl::StrCat("'all-reduce.", p, " s32[5]'")));
      }
    }
  }
}

// Two processes of two partitions in a ring, two links of which are between partitions of one process.
TEST(FaultsTest, RingsThroughProcessesAreNamed) {
  Job job({2, 2}, WireKind::kShm, Timeout(absl::Seconds(60)));
  constexpr int kRing[] = {0, 1, 3, 2};
  std::vector<Memory> memory(4, Memory(5, 1));
  std::vector<std::unique_ptr<InOrder>> orders;
  std::vector<Future> futures;
  for (int i = 0; i < 4; ++i) {
    CollectiveOp op = AllReduce(5, i);
    op.groups = {{PartitionId(kRing[i]), PartitionId(kRing[(i + 1) % 4])}};
    orders.push_back(
        std::make_unique<InOrder>(std::vector<int64_t>{i}, std::vector<int64_t>{i, (i + 3) % 4}));
    futures.push_back(
        job.Start(op, kRing[i], 1, memory[i].in, &memory[i].out, 0, nullptr, orders.back().get()));
  }
  for (const Future& future : futures) {
    ASSERT_TRUE(future.AwaitFor(absl::Seconds(5)));
    EXPECT_EQ(future.status().code(), absl::StatusCode::kFailedPrecondition);
    for (int i = 0; i < 4; ++i)
      EXPECT_THAT(future.status().ToString(), HasSubstr(absl::StrCat("'all-reduce.", i, " s32[5]'")));
    EXPECT_THAT(future.status().ToString(), HasSubstr("partition 0 is in 'all-reduce.0 s32[5]'"));
    EXPECT_THAT(future.status().ToString(), HasSubstr("partition 3 is in 'all-reduce.2 s32[5]'"));
  }
}

// As the rings, but the last one is only slow: then all go on.
TEST(FaultsTest, ChainsOfProcessesAreWaitedFor) {
  constexpr int n = 3;
  Job job({1, 1, 1}, WireKind::kShm, Timeout(absl::Seconds(60)));
  std::vector<Memory> first(n, Memory(5, 1)), second(n, Memory(5, 2));
  CollectiveOp ops[n];
  for (int p = 0; p < n; ++p) {
    ops[p] = AllReduce(5, p);
    ops[p].groups = {{PartitionId(p), PartitionId((p + 1) % n)}};
  }
  const InOrder at_first({0}), at_second({1}), after_second({1, 0});
  std::vector<Future> futures = {job.Start(ops[0], 0, 1, first[0].in, &first[0].out, 0, nullptr, &at_first),
                                 job.Start(ops[1], 1, 1, first[1].in, &first[1].out, 0, nullptr, &at_second)};
  EXPECT_FALSE(Join(futures).AwaitFor(absl::Seconds(4)));
  futures.push_back(job.Start(ops[1], 2, 1, first[2].in, &first[2].out));
  futures.push_back(job.Start(ops[0], 1, 1, second[1].in, &second[1].out, 0, nullptr, &after_second));
  ASSERT_TRUE(Join(futures).AwaitFor(absl::Seconds(10)));
  EXPECT_TRUE(Join(futures).status().ok()) << Join(futures).status();
  EXPECT_TRUE(first[2].Holds(2));
  EXPECT_TRUE(second[1].Holds(3));
}

// More than goes to a peer that does not look.
constexpr int64_t kLarge = 1 << 20;

// It takes one a while, and the last after the timeout.
TEST(FaultsTest, WhoTakesItsDataSlowlyIsWaitedFor) {
  for (WireKind wire : {WireKind::kShm, WireKind::kInProcessPieces}) {
    SCOPED_TRACE(NameOfWire(wire));
    constexpr int kRuns = 20;
    Job job({1, 1}, wire, Timeout(absl::Seconds(3)));
    std::vector<Memory> sent, received;
    std::vector<Future> futures;
    sent.reserve(kRuns);
    received.reserve(kRuns);
    const auto start = [&](int partition, int run, std::vector<Memory>* memory) {
      memory->emplace_back(kLarge / 4, run);
      futures.push_back(
          job.Start(Permute(kLarge / 4, 0, 0, 1), partition, run, memory->back().in, &memory->back().out));
    };
    for (int run = 1; run <= kRuns; ++run) start(0, run, &sent);
    for (int run = 1; run <= kRuns; ++run) {
      absl::SleepFor(absl::Milliseconds(200));
      start(1, run, &received);
    }
    for (const Future& future : futures) {
      ASSERT_TRUE(future.AwaitFor(absl::Seconds(10)));
      EXPECT_EQ(future.status(), absl::OkStatus());
    }
    for (int run = 1; run <= kRuns; ++run) EXPECT_TRUE(received[run - 1].Holds(run));
  }
}

// Each only sends, to the other one, which is in another collective of the run.
TEST(FaultsTest, SendersThatWaitForEachOtherAreNamed) {
  Job job({1, 1}, WireKind::kShm, Timeout(absl::Seconds(60)));
  const InOrder at_first({0}), at_second({1});
  std::vector<Memory> memory(2, Memory(kLarge, 1));
  const Future futures[] = {
      job.Start(Permute(kLarge, 0, 0, 1), 0, 1, memory[0].in, &memory[0].out, 0, nullptr, &at_first),
      job.Start(Permute(kLarge, 1, 1, 0), 1, 1, memory[1].in, &memory[1].out, 0, nullptr, &at_second)};
  for (const Future& future : futures) {
    ASSERT_TRUE(future.AwaitFor(absl::Seconds(5)));
    EXPECT_EQ(future.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(future.status().ToString(), HasSubstr("'collective-permute.0 s32[1048576]'"));
    EXPECT_THAT(future.status().ToString(), HasSubstr("'collective-permute.1 s32[1048576]'"));
  }
}

TEST(FaultsTest, WhoDoesNotTakeItsDataIsNamed) {
  Job job({1, 1, 1}, WireKind::kShm, Timeout(absl::Seconds(2)));
  Memory memory(kLarge, 1);
  const Future sends = job.Start(Permute(kLarge, 0, 0, 2), 0, 1, memory.in, &memory.out);
  ASSERT_TRUE(sends.AwaitFor(absl::Seconds(10)));
  EXPECT_EQ(sends.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(sends.status().ToString(),
              testing::ContainsRegex(
                  "process 2 \\(testhost, pid .*\\) has not taken what process 0 \\(.*\\) sent it in "
                  "'collective-permute.0 s32.1048576.' of run 1 within 2s.*it answered .* ago that it is in "
                  "no collective"));
}

// The first partition is in a collective, the others have ended the run.
TEST(FaultsTest, WhoHasEndedTheRunIsNotAwaited) {
  for (const std::vector<int>& devices : {std::vector<int>{1, 1}, {2, 2}, {1, 1, 1, 1}, {4}}) {
    SCOPED_TRACE(testing::PrintToString(devices));
    Job job(devices, WireKind::kShm, Timeout(absl::Seconds(60)));
    const CollectiveOp op = AllReduce(5, 0);
    std::vector<Memory> memory(job.partitions(), Memory(5, 1));
    const auto end = [&](int64_t run, int first) {
      for (int p = first; p < job.partitions(); ++p) {
        job.communicator(job.ProcessOf(p)).Expect(RunId(run));
        job.communicator(job.ProcessOf(p)).Ended(RunId(run), PartitionId(p));
      }
    };
    end(1, 1);
    const Future waits = job.Start(op, 0, 1, memory[0].in, &memory[0].out);
    ASSERT_TRUE(waits.AwaitFor(absl::Seconds(5)));
    EXPECT_EQ(waits.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(waits.status().ToString(), HasSubstr("process 0 (testhost, pid"));
    EXPECT_THAT(waits.status().ToString(), HasSubstr("'all-reduce.0 s32[5]'"));
    EXPECT_THAT(waits.status().ToString(),
                testing::ContainsRegex("ended (without it: partition|that run without it)"));
    // A number that is in use once more says nothing.
    end(2, 0);
    std::vector<Future> again = {job.Start(op, 0, 2, memory[0].in, &memory[0].out)};
    EXPECT_FALSE(again[0].AwaitFor(absl::Milliseconds(2500)));
    for (int p = 1; p < job.partitions(); ++p)
      again.push_back(job.Start(op, p, 2, memory[p].in, &memory[p].out));
    ASSERT_TRUE(Join(again).AwaitFor(absl::Seconds(10)));
    EXPECT_TRUE(memory[0].Holds(job.partitions())) << Join(again).status();
  }
}

// They wait in the same way, but the others have been in the first collective already, or nothing is known;
// and the awaited come.
TEST(FaultsTest, DifferentCollectivesOfARunMayWaitForEachOther) {
  for (const std::vector<int>& devices : {std::vector<int>{1, 1}, {2, 2}, {4}}) {
    for (bool is_known : {false, true}) {
      SCOPED_TRACE(testing::Message() << testing::PrintToString(devices) << is_known);
      Job job(devices, WireKind::kShm, Timeout(absl::Seconds(60)));
      const CollectiveOp first = AllReduce(5, 0), second = AllReduce(5, 1);
      const InOrder at_first({0}), came_to_both({0, 1});
      std::vector<Memory> a(job.partitions(), Memory(5, 1)), b(job.partitions(), Memory(5, 2));
      std::vector<Future> futures = {
          job.Start(first, 0, 1, a[0].in, &a[0].out, 0, nullptr, is_known ? &at_first : nullptr)};
      for (int p = 1; p < job.partitions(); ++p) {
        futures.push_back(
            job.Start(second, p, 1, b[p].in, &b[p].out, 0, nullptr, is_known ? &came_to_both : nullptr));
      }
      EXPECT_FALSE(futures[0].AwaitFor(absl::Milliseconds(2500)));
      futures.push_back(job.Start(second, 0, 1, b[0].in, &b[0].out));
      for (int p = 1; p < job.partitions(); ++p)
        futures.push_back(job.Start(first, p, 1, a[p].in, &a[p].out));
      ASSERT_TRUE(Join(futures).AwaitFor(absl::Seconds(10)));
      EXPECT_TRUE(Join(futures).status().ok()) << Join(futures).status();
      EXPECT_TRUE(a[0].Holds(job.partitions()));
    }
  }
}

TEST(FaultsTest, WhoIsAwaitedSaysWhatItDoes) {
  Job job({1, 1, 1}, WireKind::kInProcess, Timeout(absl::Seconds(2)));
  const CollectiveOp op = AllReduce(5, 0);
  std::vector<Memory> memory(3, Memory(5, 1));
  std::vector<Future> futures;
  for (int p : {0, 1, 2}) futures.push_back(job.Start(op, p, 1, memory[p].in, &memory[p].out));
  ASSERT_TRUE(Join(futures).AwaitFor(absl::Seconds(10)));
  const Future waits = job.Start(op, 0, 2, memory[0].in, &memory[0].out);
  ASSERT_TRUE(waits.AwaitFor(absl::Seconds(10)));
  EXPECT_THAT(
      waits.status().ToString(),
      testing::ContainsRegex("process 1 .*it answered .* ago that it is in no collective; its last one was "
                             "'all-reduce.0 s32.5.' of run 1, which ended .* ago"));
}

TEST(FaultsTest, BadCallsAreRefused) {
  Job job({2}, WireKind::kInProcess);
  CollectiveOp op = AllReduce(4, 0);
  op.arrays[0].type = ElementType::kF32;
  op.reduction = ReductionKind::kXor;
  Memory memory(4, 1);
  EXPECT_THAT(job.Start(op, 0, 1, memory.in, &memory.out).status().ToString(), HasSubstr("f32 by xor"));
  CollectiveOp exchange{CollectiveKind::kAllToAll};
  exchange.arrays = {{ElementType::kS32, 3, {1, 1}, {1, 1}}};
  exchange.number = 1;
  EXPECT_EQ(job.Start(exchange, 0, 1, memory.in, &memory.out).status().code(),
            absl::StatusCode::kInvalidArgument);
  CollectiveOp stranger = AllReduce(4, 2);
  stranger.groups = {{PartitionId(0), PartitionId(5)}};
  EXPECT_THAT(job.Start(stranger, 0, 1, memory.in, &memory.out).status().ToString(),
              HasSubstr("partition 5"));
  CollectiveOp other = AllReduce(4, 3), same = AllReduce(2, 3);
  const Future waiting = job.Start(other, 0, 1, memory.in, &memory.out);
  EXPECT_THAT(job.Start(same, 1, 1, memory.in, &memory.out).status().ToString(),
              HasSubstr("all-reduce.3 s32[4]"));
  job.communicator(0).Abort(RunId(1), absl::CancelledError(""));
}

// SHOAL_DETERMINISTIC: the same bits however the devices are spread over processes, for sums that depend on
// their order.
TEST(DeterminismTest, BitsDoNotDependOnTheLayout) {
  for (ElementType type : {ElementType::kF32, ElementType::kBF16}) {
    for (CollectiveKind kind : {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter}) {
      for (int64_t part : {3, 10007}) {
        std::vector<std::vector<Bytes>> results;
        for (const std::vector<int>& devices :
             {std::vector<int>{8}, {1, 1, 1, 1, 1, 1, 1, 1}, {2, 2, 2, 2}, {3, 5}}) {
          CollectiveOptions options;
          options.deterministic = true;
          Job job(devices, WireKind::kInProcess, options);
          CollectiveOp op{kind};
          op.arrays = {{type, part, {1, part}, {1, part}}};
          op.name = "sum";
          const int64_t elements = kind == CollectiveKind::kReduceScatter ? 8 * part : part;
          std::vector<Future> futures;
          std::vector<std::vector<Bytes>> in(8), out(8);
          for (int p = 0; p < 8; ++p) {
            in[p].emplace_back(elements * ByteWidth(type));
            out[p].emplace_back(part * ByteWidth(type));
            for (int64_t i = 0; i < elements; ++i) {
              // Wildly different magnitudes: any other order rounds otherwise.
              const float x =
                  static_cast<float>((i * 7919 + p * 104729) % 1000 - 500) * (p % 3 == 0 ? 1e5f : 1e-2f);
              std::memcpy(&in[p][0][i * ByteWidth(type)],
                          reinterpret_cast<const char*>(&x) + 4 - ByteWidth(type), ByteWidth(type));
            }
            futures.push_back(job.Start(op, p, 1, in[p], &out[p]));
          }
          ASSERT_TRUE(Join(futures).AwaitFor(absl::Seconds(20)));
          ASSERT_TRUE(Join(futures).status().ok()) << Join(futures).status();
          std::vector<Bytes> flat;
          for (int p = 0; p < 8; ++p) flat.push_back(out[p][0]);
          if (kind == CollectiveKind::kAllReduce) {
            for (int p = 1; p < 8; ++p) EXPECT_EQ(flat[p], flat[0]);
          }
          results.push_back(std::move(flat));
        }
        for (size_t layout = 1; layout < results.size(); ++layout)
          EXPECT_EQ(results[layout], results[0]) << layout;
      }
    }
  }
}

// Without it: every replica has the same bits all the same, and so has every repetition.
TEST(DeterminismTest, ReplicasAndRepetitionsAgree) {
  Job job({1, 2, 1}, WireKind::kInProcess);
  const CollectiveOp op = [] {
    CollectiveOp result{CollectiveKind::kAllReduce};
    result.arrays = {{ElementType::kF32, 5001}};
    return result;
  }();
  std::vector<std::vector<Bytes>> in(4), out(4);
  for (int p = 0; p < 4; ++p) {
    in[p].emplace_back(5001 * 4);
    out[p].emplace_back(5001 * 4);
    for (int64_t i = 0; i < 5001; ++i) {
      const float x = static_cast<float>((i * 31 + p * 17) % 97) * (p % 2 == 0 ? 1e6f : 1e-3f);
      std::memcpy(&in[p][0][i * 4], &x, 4);
    }
  }
  Bytes first;
  for (int64_t run = 0; run < 20; ++run) {
    std::vector<Future> futures;
    for (int k = 0; k < 4; ++k) {
      const int p = static_cast<int>((k + run) % 4);
      futures.push_back(job.Start(op, p, run, in[p], &out[p]));
    }
    ASSERT_TRUE(Join(futures).AwaitFor(absl::Seconds(20)));
    if (run == 0) first = out[0][0];
    for (int p = 0; p < 4; ++p) ASSERT_EQ(out[p][0], first) << "run " << run << ", partition " << p;
  }
}

}  // namespace
}  // namespace shoal

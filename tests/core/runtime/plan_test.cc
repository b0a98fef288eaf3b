// Plans of fake steps: the order that memory demands is kept, everything else may run at once, failures end
// the run.
#include "core/runtime/plan.h"

#include <atomic>
#include <mutex>
#include <random>
#include <thread>

#include "core/memory/allocator.h"
#include "core/runtime/control_step.h"
#include "core/runtime/plan_program.h"
#include "core/tasks/arena.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shoal {
namespace {

Slice At(int64_t offset, int64_t bytes = 8) { return {kTempBase, offset, bytes}; }

// Calls a function; asynchronous ones end later, on another thread.
class FakeStep : public Step {
 public:
  FakeStep(std::string name, std::vector<SliceUse> uses, bool is_async,
           std::function<absl::Status(RunState&)> work, double cost_ns)
      : Step(std::move(name), std::move(uses)),
        is_async_(is_async),
        work_(std::move(work)),
        cost_ns_(cost_ns) {}
  Future Start(RunState& run) const override {
    if (!is_async_) return work_(run);
    auto promise = std::make_shared<Promise>();
    Future future = promise->future();
    Arena::Get().Submit([this, promise, &run] { promise->Set(work_(run)); });
    return future;
  }
  bool IsAsync() const override { return is_async_; }
  double cost_ns() const override { return cost_ns_; }

 private:
  const bool is_async_;
  const std::function<absl::Status(RunState&)> work_;
  const double cost_ns_;
};

struct FakeRun {
  RunContext context;
  std::vector<char> temp = std::vector<char>(4096);
  std::vector<char*> bases = {temp.data(), temp.data(), temp.data()};
  Plan plan{{}};
  RunState state{context, bases.data(), plan, 0};
};

std::unique_ptr<Step> Make(std::string name, std::vector<SliceUse> uses, bool is_async,
                           std::function<absl::Status(RunState&)> work, double cost_ns = 1e6) {
  return std::make_unique<FakeStep>(std::move(name), std::move(uses), is_async, std::move(work), cost_ns);
}

TEST(PlanTest, OnlyOverlapWithAWriteOrders) {
  auto nothing = [](RunState&) { return absl::OkStatus(); };
  std::vector<std::unique_ptr<Step>> steps;
  steps.push_back(Make("a", {{At(0), true}}, false, nothing));
  steps.push_back(Make("b", {{At(0), false}, {At(8), true}}, false, nothing));
  steps.push_back(Make("c", {{At(0), false}, {At(16), true}}, false, nothing));
  steps.push_back(Make("d", {{At(12, 6), true}}, false, nothing));  // half of b's output and of c's
  steps.push_back(Make("e", {{At(64), true}}, false, nothing));
  const Plan plan(std::move(steps));
  EXPECT_THAT(plan.successors(0), ::testing::ElementsAre(1, 2));
  EXPECT_THAT(plan.successors(1), ::testing::ElementsAre(3));
  EXPECT_THAT(plan.successors(2), ::testing::ElementsAre(3));
  EXPECT_THAT(plan.successors(3), ::testing::IsEmpty());
  EXPECT_THAT(plan.successors(4), ::testing::IsEmpty());
}

TEST(PlanTest, KnowsWhatIsWrittenAfterAStep) {
  auto nothing = [](RunState&) { return absl::OkStatus(); };
  std::vector<std::unique_ptr<Step>> steps;
  steps.push_back(Make("a", {{At(0), false}, {At(8), true}}, true, nothing));  // c writes what it reads
  steps.push_back(Make("b", {{At(8), false}, {At(16), true}}, true, nothing));
  steps.push_back(Make("c", {{At(16), false}, {At(0), true}}, true, nothing));
  steps.push_back(Make("d", {{At(40), true}}, true, nothing));  // e writes half of it
  steps.push_back(Make("e", {{At(44), true}}, true, nothing));
  const Plan plan(std::move(steps));
  const bool wanted[] = {true, false, false, true, false};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(plan.IsWrittenAfter(i), wanted[i]) << i;
}

// The first step's temporaries are read on, by whoever keeps the keeper that it took; but not if the caller
// has none, and in the other program nothing is.
TEST(PlanProgramTest, TemporariesAndTheCallersMemoryOutlastTheRunForReaders) {
  class ReadOn : public FakeStep {
   public:
    using FakeStep::FakeStep;
    bool LetReadOn() override { return true; }
  };
  Allocator allocator("cpu:0", 1 << 20);
  for (bool is_overwritten : {false, true}) {
    std::shared_ptr<const void> readers;
    std::vector<std::unique_ptr<Step>> steps;
    steps.push_back(std::make_unique<ReadOn>(
        "a", std::vector<SliceUse>{{At(0), true}}, true,
        [&](RunState& run) {
          readers = run.keeper();
          return absl::OkStatus();
        },
        1e6));
    steps.push_back(
        Make("b", {{At(is_overwritten ? 0 : 8), true}}, false, [](RunState&) { return absl::OkStatus(); }));
    ProgramParts parts;
    parts.plan = Plan(std::move(steps));
    parts.temp_bytes = 16;
    const auto program = PlanProgram::Create(std::move(parts));
    EXPECT_EQ(program->lets_others_read_on(), !is_overwritten);
    for (bool has_keeper : {true, false}) {
      auto keeper = has_keeper ? std::make_shared<int>() : nullptr;
      const std::weak_ptr<int> kept = keeper;
      RunContext context;
      context.allocator = &allocator;
      context.keeper = std::move(keeper);
      ASSERT_TRUE(program->Start(std::move(context)).Await().ok());
      EXPECT_EQ(readers != nullptr, has_keeper);
      if (has_keeper) EXPECT_FALSE(kept.expired());
      if (has_keeper) EXPECT_EQ(allocator.Stats().bytes_in_use > 0, !is_overwritten);
      readers = nullptr;
      const absl::Time limit = absl::Now() + absl::Seconds(10);
      while ((!kept.expired() || allocator.Stats().bytes_in_use > 0) && absl::Now() < limit)
        absl::SleepFor(absl::Milliseconds(1));
      EXPECT_EQ(allocator.Stats().bytes_in_use, 0);
    }
  }
}

TEST(PlanTest, RandomPlansSeeTheMemoryOfSequentialOnes) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    // Each step: slot[out] = slot[a] * 3 + slot[b] + number.
    std::vector<std::unique_ptr<Step>> steps;
    std::vector<uint64_t> expected(12, 1);
    for (int i = 0; i < 40; ++i) {
      const int out = random() % 12, a = random() % 12, b = random() % 12;
      expected[out] = expected[a] * 3 + expected[b] + i;
      steps.push_back(Make(
          std::to_string(i), {{At(a * 8), false}, {At(b * 8), false}, {At(out * 8), true}}, random() % 3 == 0,
          [=](RunState& run) {
            auto* slots = reinterpret_cast<uint64_t*>(run.bases()[kTempBase]);
            slots[out] = slots[a] * 3 + slots[b] + i;
            return absl::OkStatus();
          },
          random() % 2 == 0 ? 1e6 : 100));
    }
    const Plan plan(std::move(steps));
    FakeRun run;
    auto* slots = reinterpret_cast<uint64_t*>(run.temp.data());
    for (int i = 0; i < 12; ++i) slots[i] = 1;
    ASSERT_TRUE(plan.Start(run.state).Await().ok());
    ASSERT_EQ(std::vector<uint64_t>(slots, slots + 12), expected);
  }
}

TEST(PlanTest, FirstErrorEndsTheRunAndPassesOverTheRest) {
  for (const bool is_async : {false, true}) {
    std::atomic<int> ran{0};
    std::vector<std::unique_ptr<Step>> steps;
    steps.push_back(Make("good", {{At(0), true}}, is_async, [&](RunState&) {
      ++ran;
      return absl::OkStatus();
    }));
    steps.push_back(
        Make("bad", {{At(0), true}}, is_async, [&](RunState&) { return absl::DataLossError("gone"); }));
    for (int i = 0; i < 5; ++i) {
      steps.push_back(Make("later", {{At(0), true}}, is_async, [&](RunState&) {
        ++ran;
        return absl::OkStatus();
      }));
    }
    const Plan plan(std::move(steps));
    FakeRun run;
    EXPECT_EQ(plan.Start(run.state).Await(), absl::DataLossError("gone"));
    EXPECT_EQ(ran, 1);
  }
}

TEST(PlanTest, LongLoopsOfReadyAndAsyncStepsKeepTheStackFlat) {
  for (const bool is_async : {false, true}) {
    const int trips = is_async ? 2000 : 200000;
    auto counter = [](RunState& run) { return reinterpret_cast<int32_t*>(run.bases()[kTempBase]); };
    std::vector<std::unique_ptr<Step>> condition, body;
    condition.push_back(Make("lt", {{At(0, 4), false}, {At(8, 1), true}}, false, [=](RunState& run) {
      run.bases()[kTempBase][8] = *counter(run) < trips;
      return absl::OkStatus();
    }));
    body.push_back(Make("next", {{At(0, 4), true}}, is_async, [=](RunState& run) {
      ++*counter(run);
      return absl::OkStatus();
    }));
    body.push_back(Make("also", {{At(0, 4), true}}, false, [=](RunState&) { return absl::OkStatus(); }));
    const WhileStep loop("loop", Plan(std::move(condition)), At(8, 1), Plan(std::move(body)));
    FakeRun run;
    ASSERT_TRUE(loop.Start(run.state).Await().ok());
    EXPECT_EQ(*counter(run.state), trips);
  }
}

TEST(PlanTest, LoopEndsWithTheErrorOfItsBody) {
  std::vector<std::unique_ptr<Step>> condition, body;
  condition.push_back(Make("true", {{At(8, 1), true}}, false, [](RunState& run) {
    run.bases()[kTempBase][8] = 1;
    return absl::OkStatus();
  }));
  int trips = 0;
  body.push_back(Make("fail", {}, true, [&](RunState&) {
    return ++trips == 5 ? absl::AbortedError("enough") : absl::OkStatus();
  }));
  const WhileStep loop("loop", Plan(std::move(condition)), At(8, 1), Plan(std::move(body)));
  FakeRun run;
  EXPECT_EQ(loop.Start(run.state).Await(), absl::AbortedError("enough"));
  EXPECT_EQ(trips, 5);
}

}  // namespace
}  // namespace shoal

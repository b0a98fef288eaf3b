// What a run says of its collectives' order while it waits in one: checked by taking every run of a small
// program apart, step by step.
#include "core/runtime/collective_order.h"

#include <memory>
#include <set>
#include <utility>

#include "core/runtime/collective_step.h"
#include "core/runtime/control_step.h"
#include "gtest/gtest.h"

namespace shoal {
namespace {

Slice At(int64_t offset, int64_t bytes = 8) { return {kTempBase, offset, bytes}; }

std::unique_ptr<Step> Collective(int64_t number, int64_t from, int64_t to) {
  CollectiveOp op{CollectiveKind::kAllReduce};
  op.number = number;
  op.groups = {{PartitionId(0)}, {PartitionId(1), PartitionId(2)}};
  op.name = "all-reduce";
  return std::make_unique<CollectiveStep>(op, std::vector<Slice>{At(from)}, std::vector<Slice>{At(to)}, "");
}

template <typename... Steps>
Plan PlanOf(Steps... steps) {
  std::vector<std::unique_ptr<Step>> list;
  (list.push_back(std::move(steps)), ...);
  return Plan(std::move(list));
}

// 0 and 1 are in a loop, at once; 2 and 3 in the branches of a conditional after it, 3 before 4; 5 reads what
// the conditional has written, 6 nothing of all this. Some(7) is not there.
Plan Everything() {
  std::vector<Plan> branches;
  branches.push_back(PlanOf(Collective(2, 8, 16)));
  branches.push_back(PlanOf(Collective(3, 8, 16), Collective(4, 16, 24)));
  return PlanOf(std::make_unique<WhileStep>("loop", Plan({}), At(0, 1),
                                            PlanOf(Collective(0, 40, 8), Collective(1, 40, 48))),
                std::make_unique<ConditionalStep>("branch", At(0, 1), true, std::move(branches)),
                Collective(5, 16, 32), Collective(6, 64, 72));
}

TEST(CollectiveOrderTest, OnlyWhatMayRunAtOnceDoesNotExclude) {
  const Plan plan = Everything();
  // By the plan above: what is concurrent with what.
  const std::set<std::pair<int, int>> at_once = {{0, 1}, {0, 6}, {1, 6}, {2, 6}, {3, 6}, {4, 6}, {5, 6}};
  for (int a = 0; a <= 6; ++a) {
    for (int b = 0; b <= 6; ++b) {
      EXPECT_EQ(NeverAtOnce(plan, a, b), !at_once.contains({std::min(a, b), std::max(a, b)}))
          << a << " " << b;
    }
  }
  EXPECT_FALSE(NeverAtOnce(plan, 0, 7));
  EXPECT_EQ(FindCollective(plan, 4)->number, 4);
  EXPECT_EQ(FindCollective(plan, 7), nullptr);
}

TEST(CollectiveOrderTest, RunsKnowWhatTheyHaveComeTo) {
  const Plan plan = Everything();
  RunContext context;
  context.partition = PartitionId(1);
  char* const bases[] = {nullptr};
  RunState run(context, bases, plan, 7);
  for (int i = 0; i < 3; ++i) run.NextInstance(0);
  run.NextInstance(3);
  // In the second branch: not the first one, and the loop three times, not four.
  EXPECT_TRUE(run.Precludes(3, 2, 0, 1));
  EXPECT_FALSE(run.Precludes(3, 0, 2, 1));
  EXPECT_TRUE(run.Precludes(3, 0, 3, 1));
  EXPECT_TRUE(run.Precludes(3, 3, 1, 1));
  // It may be in 6 already, belongs to the second group, and there are but two.
  EXPECT_FALSE(run.Precludes(3, 6, 0, 1));
  EXPECT_FALSE(run.Precludes(3, 2, 0, 0));
  EXPECT_FALSE(run.Precludes(3, 2, 0, 2));
}

}  // namespace
}  // namespace shoal

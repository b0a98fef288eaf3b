#include "core/passes/schedule.h"

#include "core/hlo/parser.h"
#include "core/hlo/verifier.h"
#include "gtest/gtest.h"

namespace shoal {
namespace {

constexpr absl::string_view kText = R"(
HloModule m, num_partitions=2
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT m = f32[] add(a, b)
}
ENTRY main {
  x = f32[7] parameter(0)
  y = f32[7] parameter(1)
  n = f32[7] negate(y)
  a = f32[7] add(n, n)
  g = f32[7] abs(x)
  all = f32[7] all-reduce(g), replica_groups={{0,1}}, to_apply=sum
  r = f32[7] sqrt(all)
  s = f32[7] multiply(a, a)
  ROOT t = f32[7] add(r, s)
}
)";

int PositionOf(const Module& module, absl::string_view name) {
  int position = 0;
  for (const Instruction* instruction : module.entry()->instructions()) {
    if (instruction->name() == name) return position;
    ++position;
  }
  return -1;
}

TEST(ScheduleTest, CollectiveStartsEarlyAndItsReadersWait) {
  absl::StatusOr<std::unique_ptr<Module>> module = ParseHloText(kText);
  ASSERT_TRUE(module.ok()) << module.status();
  absl::StatusOr<bool> changed = Schedule(**module);
  ASSERT_TRUE(changed.ok() && *changed);
  ASSERT_TRUE(VerifyStructure(**module).ok()) << VerifyStructure(**module);
  EXPECT_LT(PositionOf(**module, "s"), PositionOf(**module, "r"));
  EXPECT_EQ(PositionOf(**module, "all"), PositionOf(**module, "g") + 1);
}

TEST(ScheduleTest, TheOrderIsTheSameForTheSameProgram) {
  std::vector<std::string> first;
  for (int i = 0; i < 3; ++i) {
    absl::StatusOr<std::unique_ptr<Module>> module = ParseHloText(kText);
    ASSERT_TRUE(module.ok() && Schedule(**module).ok());
    std::vector<std::string> names;
    for (const Instruction* instruction : (*module)->entry()->instructions())
      names.push_back(instruction->name());
    if (i == 0) first = names;
    EXPECT_EQ(names, first);
  }
}

}  // namespace
}  // namespace shoal

// What holds of a partitioned program whatever it computes; that it computes the right thing is
// equals_unpartitioned_test.py's.
#include "sharding/partition/partition.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/hlo/parser.h"
#include "core/hlo/printer.h"
#include "core/ops/verify.h"
#include "sharding/propagate/propagate.h"

namespace shoal {
namespace {

std::unique_ptr<Module> Partitioned(int partitions, absl::string_view body) {
  auto parsed = ParseHloText(absl::StrCat("HloModule m, num_partitions=", partitions, "\n", body));
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  if (!parsed.ok()) return nullptr;
  std::unique_ptr<Module> module = *std::move(parsed);
  if (partitions > 1) {
    EXPECT_TRUE(PropagateShardings(*module, {{}, {true}}).ok());
  }
  const absl::Status status = Partition(*module);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(Verify(*module).ok()) << Verify(*module);
  return module;
}

int Count(const Module& module, Opcode opcode) {
  int count = 0;
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions())
      count += instruction->opcode() == opcode;
  }
  return count;
}

constexpr absl::string_view kTwoCalls = R"(
  f { p = f32[8] parameter(0)
    ROOT s = f32[8] sine(p) }
  ENTRY main {
    a = f32[8] parameter(0)
    c1 = f32[8] call(a), to_apply=f
    ROOT c2 = f32[8] call(c1), to_apply=f })";

TEST(Partition, OnePartitionKeepsItsCalls) {
  const auto module = Partitioned(1, kTwoCalls);
  EXPECT_EQ(Count(*module, Opcode::kCall), 2);
}

TEST(Partition, OnePartitionWithAManualRegionLosesIt) {
  const auto module = Partitioned(1, R"(
    region { p = f32[8] parameter(0)
      ROOT s = f32[8] sine(p) }
    ENTRY main {
      a = f32[8] parameter(0)
      ROOT m = f32[8] manual-computation(a), to_apply=region, in_shardings={{mesh<[x=1]>, [{x}]}},
        out_shardings={{mesh<[x=1]>, [{x}]}}, manual_axes={"x"} })");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(Count(*module, Opcode::kManualComputation), 0);
  EXPECT_EQ(Count(*module, Opcode::kSin), 1);
}

TEST(Partition, NothingShardedIsComputedEverywhere) {
  const auto module = Partitioned(8, kTwoCalls);
  EXPECT_EQ(module->entry()->root()->shape(), Shape::Array(ElementType::kF32, {8}));
  EXPECT_EQ(Count(*module, Opcode::kAllGather) + Count(*module, Opcode::kAllReduce), 0);
}

TEST(Partition, ShapesBecomeLocalAndShardingsStay) {
  const auto module = Partitioned(8, R"(ENTRY main {
    a = f32[8,6] parameter(0), sharding={mesh<[x=4,y=2]>, [{x}, {y}]}
    ROOT r = f32[8,6] negate(a) })");
  EXPECT_EQ(module->entry()->parameter(0)->shape(), Shape::Array(ElementType::kF32, {2, 3}));
  EXPECT_EQ(module->entry()->root()->shape(), Shape::Array(ElementType::kF32, {2, 3}));
  ASSERT_NE(module->entry()->parameter(0)->sharding(), nullptr);
  EXPECT_EQ(module->config().result_shardings.size(), 1);
}

// What is linear in a partial sum leaves it partial: one all-reduce after the loop, none in it.
TEST(Partition, PartialSumsAreReducedOnceAfterALoop) {
  const auto module = Partitioned(2, R"(
    condition { s = (s32[], f32[4,4,4], f32[8,4], f32[8,4]) parameter(0)
      i = s32[] get-tuple-element(s), index=0
      n = s32[] constant(4)
      ROOT less = pred[] compare(i, n), direction=LT }
    body { s = (s32[], f32[4,4,4], f32[8,4], f32[8,4]) parameter(0)
      i = s32[] get-tuple-element(s), index=0
      sums = f32[4,4,4] get-tuple-element(s), index=1
      a = f32[8,4] get-tuple-element(s), index=2
      b = f32[8,4] get-tuple-element(s), index=3
      d = f32[4,4] dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}, sharding={mesh<[x=2]>, [{}, {}], unreduced={x}}
      t = f32[4,4] transpose(d), dimensions={1,0}, sharding={mesh<[x=2]>, [{}, {}], unreduced={x}}
      r = f32[1,4,4] reshape(t), sharding={mesh<[x=2]>, [{}, {}, {}], unreduced={x}}
      zero = s32[] constant(0)
      u = f32[4,4,4] dynamic-update-slice(sums, r, i, zero, zero), sharding={mesh<[x=2]>, [{}, {}, {}], unreduced={x}}
      v = f32[4,4,4] add(u, sums), sharding={mesh<[x=2]>, [{}, {}, {}], unreduced={x}}
      one = s32[] constant(1)
      next = s32[] add(i, one)
      ROOT t2 = (s32[], f32[4,4,4], f32[8,4], f32[8,4]) tuple(next, v, a, b) }
    ENTRY main {
      a = f32[8,4] parameter(0), sharding={mesh<[x=2]>, [{x}, {}]}
      b = f32[8,4] parameter(1), sharding={mesh<[x=2]>, [{x}, {}]}
      zero = s32[] constant(0)
      start = f32[] constant(0)
      sums = f32[4,4,4] broadcast(start), dimensions={}
      partial = f32[4,4,4] sharding-constraint(sums), sharding={mesh<[x=2]>, [{}, {}, {}], unreduced={x}}
      s = (s32[], f32[4,4,4], f32[8,4], f32[8,4]) tuple(zero, partial, a, b)
      w = (s32[], f32[4,4,4], f32[8,4], f32[8,4]) while(s), condition=condition, body=body
      total = f32[4,4,4] get-tuple-element(w), index=1
      still = f32[4,4,4] sharding-constraint(total), sharding={mesh<[x=2]>, [{}, {}, {}], unreduced={x}}
      ROOT r = f32[4,4,4] sharding-constraint(still), sharding={mesh<[x=2]>, [{}, {}, {}]} })");
  EXPECT_EQ(Count(*module, Opcode::kAllReduce), 1);
  ASSERT_EQ(module->entry()->root()->opcode(), Opcode::kAllReduce);
}

// Constraints count for scalars, too: the sum is not reduced and taken apart again for the first of the two.
TEST(Partition, ScalarSumStaysPartial) {
  const auto module = Partitioned(2, R"(
    sum { p = f32[] parameter(0)
      q = f32[] parameter(1)
      ROOT s = f32[] add(p, q) }
    ENTRY main {
      a = f32[8] parameter(0), sharding={mesh<[x=2]>, [{x}]}
      zero = f32[] constant(0)
      r = f32[] reduce(a, zero), dimensions={0}, to_apply=sum
      c = f32[] sharding-constraint(r), sharding={mesh<[x=2]>, [], unreduced={x}}
      ROOT d = f32[] sharding-constraint(c), sharding={mesh<[x=2]>, []} })");
  EXPECT_EQ(Count(*module, Opcode::kAllReduce), 1);
  EXPECT_EQ(Count(*module, Opcode::kSelect), 0);
}

TEST(Partition, NothingIsSentOfAnEmptyArray) {
  const auto module = Partitioned(2, R"(ENTRY main {
    a = f32[0,8] parameter(0), sharding={mesh<[x=2]>, [{}, {x}]}
    ROOT c = f32[0,8] sharding-constraint(a), sharding={mesh<[x=2]>, [{}, {}]} })");
  EXPECT_EQ(module->entry()->root()->shape(), Shape::Array(ElementType::kF32, {0, 8}));
  EXPECT_EQ(Count(*module, Opcode::kAllGather), 0);
}

// Where a part begins, what is past the end, and an iota's numbers: none of them fits into 32 bits.
TEST(Partition, PositionsInLongDimensionsHave64Bits) {
  const auto module = Partitioned(4, R"(
    sum { p = s64[] parameter(0)
      q = s64[] parameter(1)
      ROOT s = s64[] add(p, q) }
    ENTRY main {
      a = s8[5000000001] parameter(0), sharding={mesh<[x=4]>, [{}]}
      c = s8[5000000001] sharding-constraint(a), sharding={mesh<[x=4]>, [{x}]}
      i = s64[5000000001] iota(), iota_dimension=0, sharding={mesh<[x=4]>, [{x}]}
      zero = s64[] constant(0)
      r = s64[] reduce(i, zero), dimensions={0}, to_apply=sum
      ROOT t = (s8[5000000001], s64[]) tuple(c, r) })");
  const std::string text = ToText(*module);
  EXPECT_EQ(text.find("s32["), std::string::npos) << text;
  EXPECT_NE(text.find("constant(1250000001)"), std::string::npos) << text;
}

// Every partition must reach the same collectives in the same order: channels are numbered once.
TEST(Partition, ChannelsAreUnique) {
  const auto module = Partitioned(8, R"(ENTRY main {
    a = f32[8,8] parameter(0), sharding={mesh<[x=4,y=2]>, [{x}, {y}]}
    b = f32[8,8] parameter(1), sharding={mesh<[x=4,y=2]>, [{y}, {x}]}
    d = f32[8,8] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    ROOT e = f32[8,8] dot(d, a), lhs_contracting_dims={1}, rhs_contracting_dims={0} })");
  std::vector<int64_t> channels;
  for (const Instruction* instruction : module->entry()->instructions()) {
    if (const auto* c = std::get_if<CollectiveAttributes>(&instruction->attributes())) {
      channels.push_back(c->channel_id);
    }
  }
  ASSERT_GT(channels.size(), 1);
  std::sort(channels.begin(), channels.end());
  EXPECT_EQ(std::adjacent_find(channels.begin(), channels.end()), channels.end());
}

}  // namespace
}  // namespace shoal

#include "core/passes/fuse.h"

#include "absl/strings/str_cat.h"
#include "core/hlo/parser.h"
#include "core/hlo/printer.h"
#include "core/hlo/verifier.h"
#include "gtest/gtest.h"

namespace shoal {
namespace {

// What the code generator would say, in short.
FusionModel Model() {
  FusionModel model;
  model.can_fuse = [](const Instruction& op) {
    switch (FamilyOf(op.opcode())) {
      case OpFamily::kElementwise:
      case OpFamily::kReshapeFamily:
      case OpFamily::kSliceFamily:
      case OpFamily::kReduceFamily:
      case OpFamily::kConstantFamily:
        return true;
      default:
        return op.opcode() == Opcode::kGather;
    }
  };
  model.element_cost_ns = [](const Instruction& op) { return op.opcode() == Opcode::kExp ? 0.6 : 0.03; };
  return model;
}

struct Counts {
  int fusions = 0, others = 0;  // others that run: neither names nor constants nor parameters
};

std::unique_ptr<Module> FuseText(absl::string_view text) {
  absl::StatusOr<std::unique_ptr<Module>> module = ParseHloText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  const absl::StatusOr<bool> changed = Fuse(**module, Model());
  EXPECT_TRUE(changed.ok()) << changed.status();
  EXPECT_TRUE(VerifyStructure(**module).ok()) << VerifyStructure(**module) << "\n" << ToText(**module);
  return *std::move(module);
}

Counts Count(const Computation& computation) {
  Counts counts;
  for (const Instruction* instruction : computation.instructions()) {
    switch (instruction->opcode()) {
      case Opcode::kFusion:
        ++counts.fusions;
        break;
      case Opcode::kParameter:
      case Opcode::kConstant:
      case Opcode::kTuple:
      case Opcode::kGetTupleElement:
      case Opcode::kReshape:
        break;
      default:
        ++counts.others;
    }
  }
  return counts;
}

TEST(FuseTest, ChainBecomesOneKernel) {
  auto module = FuseText(R"(
HloModule m
ENTRY main {
  x = f32[1001] parameter(0)
  y = f32[1001] parameter(1)
  e = f32[1001] exponential(x)
  a = f32[1001] add(e, y)
  two = f32[] constant(2)
  b = f32[1001] broadcast(two), dimensions={}
  ROOT r = f32[1001] multiply(a, b)
}
)");
  EXPECT_EQ(Count(*module->entry()).fusions, 1);
  EXPECT_EQ(Count(*module->entry()).others, 0);
  EXPECT_EQ(module->entry()->root()->operand_count(), 2);
}

TEST(FuseTest, ExpensiveWorkIsNotDoneAgainForEveryElementOfABroadcast) {
  auto module = FuseText(R"(
HloModule m
ENTRY main {
  x = f32[1001] parameter(0)
  y = f32[700,1001] parameter(1)
  e = f32[1001] exponential(x)
  b = f32[700,1001] broadcast(e), dimensions={1}
  ROOT r = f32[700,1001] add(b, y)
}
)");
  EXPECT_EQ(Count(*module->entry()).fusions, 1);
  EXPECT_EQ(Count(*module->entry()).others, 1);
}

TEST(FuseTest, SoftmaxIsThreeKernels) {
  auto module = FuseText(R"(
HloModule m
max {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT m = f32[] maximum(a, b)
}
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT m = f32[] add(a, b)
}
ENTRY main {
  x = f32[300,1001] parameter(0)
  low = f32[] constant(-inf)
  zero = f32[] constant(0)
  m = f32[300] reduce(x, low), dimensions={1}, to_apply=max
  mb = f32[300,1001] broadcast(m), dimensions={0}
  d = f32[300,1001] subtract(x, mb)
  e = f32[300,1001] exponential(d)
  s = f32[300] reduce(e, zero), dimensions={1}, to_apply=sum
  sb = f32[300,1001] broadcast(s), dimensions={0}
  ROOT r = f32[300,1001] divide(e, sb)
}
)");
  // max; exp and sum; exp again and divide, which is cheaper than to write the exps and read them twice.
  const Counts counts = Count(*module->entry());
  EXPECT_EQ(counts.fusions + counts.others, 3);
}

TEST(FuseTest, ReduceTakesInWhatComesBeforeAndAfter) {
  auto module = FuseText(R"(
HloModule m
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT m = f32[] add(a, b)
}
ENTRY main {
  x = f32[300,1001] parameter(0)
  zero = f32[] constant(0)
  q = f32[300,1001] multiply(x, x)
  s = f32[300] reduce(q, zero), dimensions={1}, to_apply=sum
  ROOT r = f32[300] sqrt(s)
}
)");
  EXPECT_EQ(Count(*module->entry()).fusions, 1);
  EXPECT_EQ(Count(*module->entry()).others, 0);
}

TEST(FuseTest, UpdateReadsOnlyItsOwnWindow) {
  constexpr absl::string_view kText = R"(
HloModule m
ENTRY main {
  a = f32[64,1001] parameter(0)
  i = s32[] parameter(1)
  zero = s32[] constant(0)
  row = f32[1,1001] dynamic-slice(a, %s, zero), dynamic_slice_sizes={1,1001}
  twice = f32[1,1001] add(row, row)
  ROOT r = f32[64,1001] dynamic-update-slice(a, twice, i, zero)
}
)";
  std::string same(kText), other(kText);
  same.replace(same.find("%s"), 2, "i");
  other.replace(other.find("%s"), 2, "zero");
  EXPECT_EQ(Count(*FuseText(same)->entry()).others, 0);
  EXPECT_EQ(Count(*FuseText(same)->entry()).fusions, 1);
  auto apart = FuseText(other);
  EXPECT_EQ(Count(*apart->entry()).fusions + Count(*apart->entry()).others, 2);
}

TEST(FuseTest, UpdatedArrayIsAnOperandNotComputed) {
  auto module = FuseText(R"(
HloModule m
ENTRY main {
  x = f32[64,1001] parameter(0)
  u = f32[1,1001] parameter(1)
  i = s32[] parameter(2)
  zero = s32[] constant(0)
  a = f32[64,1001] add(x, x)
  v = f32[1,1001] negate(u)
  ROOT r = f32[64,1001] dynamic-update-slice(a, v, i, zero)
}
)");
  const Counts counts = Count(*module->entry());
  EXPECT_EQ(counts.fusions, 1);
  EXPECT_EQ(counts.others, 1);
  EXPECT_EQ(module->entry()->root()->attributes<FusionAttributes>().kind, FusionKind::kInPlace);
}

TEST(FuseTest, NamesStayOutsideAndDotsAlone) {
  auto module = FuseText(R"(
HloModule m
ENTRY main {
  x = f32[30,7] parameter(0)
  w = f32[210,5] parameter(1)
  y = f32[210] reshape(x)
  z = f32[210] negate(y)
  q = f32[210] abs(z)
  v = f32[1,210] reshape(q)
  ROOT d = f32[1,5] dot(v, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
)");
  const Counts counts = Count(*module->entry());
  EXPECT_EQ(counts.fusions, 1);
  EXPECT_EQ(counts.others, 1);
  for (const Instruction* instruction : module->entry()->instructions()) {
    if (instruction->opcode() != Opcode::kFusion) continue;
    for (const Instruction* inner : instruction->called(0)->instructions()) {
      EXPECT_NE(inner->opcode(), Opcode::kReshape);
    }
  }
}

// Each roll reads its operand at two positions, so a kernel of n rolls has code for 2^n.
TEST(FuseTest, RollsOfRollsAreCutIntoKernels) {
  std::string text = "HloModule m\nENTRY main {\n  v0 = f32[5] parameter(0)\n";
  constexpr int kRolls = 48;
  for (int i = 0; i < kRolls; ++i) {
    absl::StrAppend(&text, "  a", i, " = f32[2] slice(v", i, "), slice={[3:5]}\n");
    absl::StrAppend(&text, "  b", i, " = f32[3] slice(v", i, "), slice={[0:3]}\n");
    absl::StrAppend(&text, "  c", i, " = f32[5] concatenate(a", i, ", b", i, "), dimensions={0}\n");
    absl::StrAppend(&text, i + 1 == kRolls ? "  ROOT v" : "  v", i + 1, " = f32[5] multiply(c", i, ", c", i,
                    ")\n");
  }
  auto module = FuseText(text + "}\n");
  EXPECT_GE(Count(*module->entry()).fusions, kRolls / 8);
}

TEST(FuseTest, LoopBodiesAreFusedToo) {
  auto module = FuseText(R"(
HloModule m
cond {
  s = (s32[], f32[501]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(8)
  ROOT lt = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[501]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[501] get-tuple-element(s), index=1
  a = f32[501] add(x, x)
  b = f32[501] multiply(a, x)
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT t = (s32[], f32[501]) tuple(j, b)
}
ENTRY main {
  p = (s32[], f32[501]) parameter(0)
  ROOT w = (s32[], f32[501]) while(p), condition=cond, body=body
}
)");
  for (const Computation* computation : module->computations()) {
    if (computation->name() == "body") EXPECT_EQ(Count(*computation).others, 0) << ToText(*computation);
  }
}

// y1 and y2 become one kernel, which stands where y1 does: so x2, that needs y2, comes after x1, and the two
// readers of p are no kernel of their own.
TEST(FuseTest, JoinedKernelsLeadForwards) {
  auto module = FuseText(R"(
HloModule m
ENTRY main {
  p = f32[64,64] parameter(0)
  q = f32[64,64] parameter(1)
  y2 = f32[64,64] sine(q)
  d2 = f32[64,64] dot(y2, y2), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  x1 = f32[64,64] cosine(p)
  d1 = f32[64,64] dot(x1, x1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  y1 = f32[64,64] add(q, d1)
  x2 = f32[64,64] subtract(p, d2)
  ROOT t = (f32[64,64], f32[64,64]) tuple(y1, x2)
}
)");
  const Counts counts = Count(*module->entry());
  EXPECT_EQ(counts.fusions, 1) << ToText(*module);
  EXPECT_EQ(counts.others, 4) << ToText(*module);  // two dots, x1, x2
}

// A sum that a kernel over rows takes in, and that another kernel reads through an operation that both
// repeat, is computed once: a second time it could be rounded otherwise.
TEST(FuseTest, SumsOfRowsAreComputedOnce) {
  FusionModel model = Model();
  model.can_be_row_kernel = [](absl::Span<Instruction* const>, absl::Span<Instruction* const>) {
    return true;
  };
  absl::StatusOr<std::unique_ptr<Module>> module = ParseHloText(R"(HloModule m
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT l = pred[] compare(a, b), direction=LT, type=TOTALORDER
}
ENTRY main {
  x = f32[64,1001] parameter(0)
  zero = f32[] constant(0)
  s = f32[64] reduce(x, zero), dimensions={1}, to_apply=sum
  twice = f32[64] add(s, s)
  rows = f32[64,1001] broadcast(twice), dimensions={0}
  y = f32[64,1001] subtract(x, rows)
  sorted = f32[64,1001] sort(y), dimensions={1}, to_apply=less
  least = f32[64,1] slice(sorted), slice={[0:64], [0:1]}
  column = f32[64] reshape(least)
  ROOT out = f32[64] multiply(twice, column)
})");
  ASSERT_TRUE(module.ok()) << module.status();
  ASSERT_TRUE(Fuse(**module, model).ok());
  int sums = 0;
  for (const Computation* computation : (*module)->computations()) {
    for (const Instruction* op : computation->instructions()) sums += op->opcode() == Opcode::kReduce;
  }
  EXPECT_EQ(sums, 1) << ToText(**module);
}

}  // namespace
}  // namespace shoal

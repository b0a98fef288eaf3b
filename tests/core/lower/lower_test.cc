#include "core/lower/lower.h"

#include <cmath>

#include "gmock/gmock.h"
#include "tests/core/lower/program_runner.h"

namespace shoal {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::Pointwise;

std::vector<float> Numbers(int count, float scale = 0.25f) {
  std::vector<float> numbers(count);
  for (int i = 0; i < count; ++i) numbers[i] = scale * static_cast<float>((i * 7) % 23 - 11);
  return numbers;
}

TEST(LowerTest, ElementwiseDotAndReduce) {
  auto program = CompileText(R"(
HloModule first
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
ENTRY main {
  x = f32[5,7] parameter(0)
  y = f32[5,7] parameter(1)
  w = f32[7,3] parameter(2)
  z = f32[5,7] multiply(x, y)
  m = f32[5,7] add(z, x)
  d = f32[5,3] dot(m, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  zero = f32[] constant(0)
  ROOT r = f32[5] reduce(d, zero), dimensions={1}, to_apply=sum
}
)");
  ASSERT_NE(program, nullptr);
  const auto x = Numbers(35), y = Numbers(35, 0.5f), w = Numbers(21);
  std::vector<Bytes> in;
  in.push_back(Bytes::Of(x));
  in.push_back(Bytes::Of(y));
  in.push_back(Bytes::Of(w));
  const auto out = RunProgram(*program, in);
  ASSERT_EQ(out.size(), 1u);
  std::vector<float> expected(5, 0);
  for (int i = 0; i < 5; ++i) {
    for (int k = 0; k < 7; ++k) {
      for (int j = 0; j < 3; ++j) expected[i] += (x[i * 7 + k] * y[i * 7 + k] + x[i * 7 + k]) * w[k * 3 + j];
    }
  }
  EXPECT_THAT(out[0].As<float>(), Pointwise(::testing::FloatNear(1e-4f), expected));
}

TEST(LowerTest, LoopInNativeCode) {
  auto program = CompileText(R"(
HloModule scan
cond {
  s = (s32[], f32[8,3], f32[3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(8)
  ROOT lt = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[8,3], f32[3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  ys = f32[8,3] get-tuple-element(s), index=1
  x = f32[3] get-tuple-element(s), index=2
  twice = f32[3] add(x, x)
  y = f32[1,3] reshape(twice)
  zero = s32[] constant(0)
  update = f32[8,3] dynamic-update-slice(ys, y, i, zero)
  one = s32[] constant(1)
  next = s32[] add(i, one)
  ROOT t = (s32[], f32[8,3], f32[3]) tuple(next, update, twice)
}
ENTRY main {
  p = f32[3] parameter(0)
  start = s32[] constant(0)
  nought = f32[] constant(0)
  filled = f32[8,3] broadcast(nought), dimensions={}
  init = (s32[], f32[8,3], f32[3]) tuple(start, filled, p)
  loop = (s32[], f32[8,3], f32[3]) while(init), condition=cond, body=body
  count = s32[] get-tuple-element(loop), index=0
  out = f32[8,3] get-tuple-element(loop), index=1
  ROOT r = (s32[], f32[8,3]) tuple(count, out)
}
)");
  ASSERT_NE(program, nullptr);
  std::vector<Bytes> in;
  in.push_back(Bytes::Of(std::vector<float>{1, -2, 0.5f}));
  const auto out = RunProgram(*program, in);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_THAT(out[0].As<int32_t>(), ElementsAre(8));
  std::vector<float> expected;
  for (int i = 1; i <= 8; ++i) {
    for (float v : {1.f, -2.f, 0.5f}) expected.push_back(v * std::ldexp(1.f, i));
  }
  EXPECT_EQ(out[1].As<float>(), expected);
}

TEST(LowerTest, ConditionalTakesTheBranchThatIsAskedFor) {
  auto program = CompileText(R"(
HloModule choose
first {
  p = (f32[3], f32[3]) parameter(0)
  a = f32[3] get-tuple-element(p), index=0
  b = f32[3] get-tuple-element(p), index=1
  ROOT t = (f32[3], f32[3]) tuple(b, a)
}
second {
  p = (f32[3], f32[3]) parameter(0)
  a = f32[3] get-tuple-element(p), index=0
  b = f32[3] get-tuple-element(p), index=1
  s = f32[3] add(a, b)
  ROOT t = (f32[3], f32[3]) tuple(s, a)
}
ENTRY main {
  i = s32[] parameter(0)
  a = f32[3] parameter(1)
  b = f32[3] parameter(2)
  t = (f32[3], f32[3]) tuple(a, b)
  ROOT c = (f32[3], f32[3]) conditional(i, t, t), branch_computations={first, second}
}
)");
  ASSERT_NE(program, nullptr);
  for (int32_t index : {0, 1, -1, 7}) {
    std::vector<Bytes> in;
    in.push_back(Bytes::Of(std::vector<int32_t>{index}));
    in.push_back(Bytes::Of(std::vector<float>{1, 2, 3}));
    in.push_back(Bytes::Of(std::vector<float>{10, 20, 30}));
    const auto out = RunProgram(*program, in);
    ASSERT_EQ(out.size(), 2u);
    EXPECT_EQ(out[0].As<float>(),
              index == 0 ? std::vector<float>({10, 20, 30}) : std::vector<float>({11, 22, 33}));
    EXPECT_EQ(out[1].As<float>(), std::vector<float>({1, 2, 3}));
  }
}

TEST(LowerTest, PartitionIdComesFromTheRun) {
  auto program = CompileText(R"(
HloModule who, replica_count=2, num_partitions=4
ENTRY main {
  id = u32[] partition-id()
  replica = u32[] replica-id()
  ten = u32[] constant(10)
  tens = u32[] multiply(replica, ten)
  ROOT r = u32[] add(id, tens)
}
)");
  ASSERT_NE(program, nullptr);
  EXPECT_TRUE(program->is_small());
  EXPECT_THAT(RunProgram(*program, {}, nullptr, 6)[0].As<uint32_t>(), ElementsAre(12));
}

TEST(LowerTest, ParametersAndConstantsHandedThrough) {
  auto program = CompileText(R"(
HloModule pass
ENTRY main {
  x = f32[3] parameter(0)
  c = s32[2] constant({4, 5})
  ROOT r = (f32[3], s32[2], f32[3]) tuple(x, c, x)
}
)");
  ASSERT_NE(program, nullptr);
  std::vector<Bytes> in;
  in.push_back(Bytes::Of(std::vector<float>{1, 2, 3}));
  const auto out = RunProgram(*program, in);
  EXPECT_EQ(out[0].As<float>(), std::vector<float>({1, 2, 3}));
  EXPECT_EQ(out[1].As<int32_t>(), std::vector<int32_t>({4, 5}));
  EXPECT_EQ(out[2].As<float>(), std::vector<float>({1, 2, 3}));
}

TEST(LowerTest, UnknownCustomCallIsRefusedByName) {
  absl::StatusOr<std::unique_ptr<Module>> module = ParseHloText(R"(
HloModule call
ENTRY main {
  x = f32[3] parameter(0)
  ROOT r = f32[3] custom-call(x), custom_call_target="no_such_target"
}
)");
  ASSERT_TRUE(module.ok()) << module.status();
  const auto program = CompileModule(**module);
  EXPECT_EQ(program.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(program.status().message()), ::testing::HasSubstr("no_such_target"));
}

}  // namespace
}  // namespace shoal

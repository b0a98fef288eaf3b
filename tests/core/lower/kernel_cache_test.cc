// Programs share native code exactly where they compute the same.
#include "core/lower/kernel_cache.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/core/lower/program_runner.h"

namespace shoal {
namespace {

using ::testing::ElementsAre;

// main(x, i) = body, over f32[3] and s32[].
std::string Text(absl::string_view body) {
  return absl::StrCat("HloModule m\nENTRY main {\n  x = f32[3] parameter(0)\n  i = s32[] parameter(1)\n",
                      body, "\n}\n");
}

std::vector<float> Values(const PlanProgram& program) {
  std::vector<Bytes> in;
  in.push_back(Bytes::Of(std::vector<float>{1, -2, 0.5f}));
  in.push_back(Bytes::Of(std::vector<int32_t>{1}));
  return RunProgram(program, in)[0].As<float>();
}

TEST(KernelCacheTest, TheSameKernelUnderOtherNamesIsShared) {
  KernelCache cache(*Jit::Create());
  auto first = CompileText(Text("ROOT y = f32[3] add(x, x)"), true, cache);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(cache.compiled_kernels(), 1);
  auto second = CompileText(Text("ROOT z = f32[3] add(x, x)"), true, cache);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(cache.compiled_kernels(), 1);
  first.reset();
  EXPECT_THAT(Values(*second), ElementsAre(2, -4, 1));
}

TEST(KernelCacheTest, WhatDiffersIsNot) {
  KernelCache cache(*Jit::Create());
  const std::vector<std::pair<std::string, std::vector<float>>> programs = {
      {"c = f32[] constant(2)\n b = f32[3] broadcast(c), dimensions={}\n ROOT y = f32[3] multiply(x, b)",
       {2, -4, 1}},
      {"c = f32[] constant(4)\n b = f32[3] broadcast(c), dimensions={}\n ROOT y = f32[3] multiply(x, b)",
       {4, -8, 2}},
      {"c = f32[3] constant({1, 2, 4})\n ROOT y = f32[3] multiply(x, c)", {1, -4, 2}},
      {"c = f32[3] constant({4, 2, 1})\n ROOT y = f32[3] multiply(x, c)", {4, -4, 0.5f}},
      {"ROOT y = f32[1] slice(x), slice={[0:1]}", {1}},
      {"ROOT y = f32[1] slice(x), slice={[2:3]}", {0.5f}},
      {"n = f32[3] negate(x)\n ROOT y = f32[3] add(n, x)", {0, 0, 0}},
      {"ROOT y = f32[3] add(x, x)", {2, -4, 1}},
      {"ROOT y = f32[3] negate(x)", {-1, 2, -0.5f}},
  };
  std::vector<std::shared_ptr<const PlanProgram>> compiled;
  for (const auto& [body, expected] : programs) compiled.push_back(CompileText(Text(body), true, cache));
  for (size_t i = 0; i < programs.size(); ++i) {
    SCOPED_TRACE(programs[i].first);
    ASSERT_NE(compiled[i], nullptr);
    EXPECT_EQ(Values(*compiled[i]), programs[i].second);
  }
}

TEST(KernelCacheTest, ManyKernelsInSeveralModules) {
  KernelCache cache(*Jit::Create());
  // Each step has a constant of its own, and is a kernel of its own: unfused.
  std::string body;
  std::string last = "x";
  std::vector<float> expected = {1, -2, 0.5f};
  for (int k = 0; k < 70; ++k) {
    absl::StrAppend(&body, "  c", k, " = f32[3] constant({", k, ", 1, -", k, "})\n");
    absl::StrAppend(&body, "  s", k, " = f32[", 1, "] slice(", last, "), slice={[", k % 3, ":", k % 3 + 1,
                    "]}\n");
    absl::StrAppend(&body, "  r", k, " = f32[] reshape(s", k, ")\n");
    absl::StrAppend(&body, "  b", k, " = f32[3] broadcast(r", k, "), dimensions={}\n");
    absl::StrAppend(&body, "  ", k == 69 ? "ROOT " : "", "v", k, " = f32[3] subtract(c", k, ", b", k, ")\n");
    last = absl::StrCat("v", k);
    const float taken = expected[k % 3];
    expected = {k - taken, 1 - taken, -k - taken};
  }
  auto program = CompileText(Text(body), /*fuse=*/false, cache);
  ASSERT_NE(program, nullptr);
  EXPECT_GT(cache.compiled_kernels(), 4);
  EXPECT_EQ(Values(*program), expected);
}

const std::string kLoop = absl::StrCat("HloModule m", kDoublingLoop, R"(ENTRY main {
  x = f32[3] parameter(0)
  i = s32[] parameter(1)
  init = (s32[], f32[3]) tuple(i, x)
  loop = (s32[], f32[3]) while(init), condition=cond, body=body
  ROOT r = f32[3] get-tuple-element(loop), index=1
}
)");

TEST(KernelCacheTest, WhatNoProgramHoldsIsDroppedWhenTheCacheIsFull) {
  KernelCache cache(*Jit::Create(), /*most_code_bytes=*/1);
  auto loop = CompileText(kLoop, true, cache);
  ASSERT_NE(loop, nullptr);
  ASSERT_NE(CompileText(Text("ROOT y = f32[3] negate(x)"), true, cache), nullptr);
  ASSERT_NE(CompileText(Text("ROOT y = f32[3] multiply(x, x)"), true, cache), nullptr);
  int64_t compiled = cache.compiled_kernels();
  EXPECT_THAT(Values(*loop), ElementsAre(16, -32, 8));  // its kernels are still there
  auto same_loop = CompileText(kLoop, true, cache);
  EXPECT_EQ(cache.compiled_kernels(), compiled);
  loop.reset();
  EXPECT_THAT(Values(*same_loop), ElementsAre(16, -32, 8));
  // Nobody holds the negation any more.
  ASSERT_NE(CompileText(Text("ROOT y = f32[3] negate(x)"), true, cache), nullptr);
  EXPECT_EQ(cache.compiled_kernels(), compiled + 1);
}

}  // namespace
}  // namespace shoal

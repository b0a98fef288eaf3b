#include "core/codegen/kernel.h"

#include "core/codegen/module_builder.h"
#include "core/hlo/parser.h"
#include "core/jit/jit.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shoal {
namespace {

constexpr char kText[] = R"(
HloModule m
first { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
ENTRY main {
  x = f32[16] parameter(0)
  y = f32[16] parameter(1)
  i = s32[] parameter(2)
  ids = s32[4,1] parameter(3)
  u = f32[4] parameter(4)
  m = f32[4,4] parameter(5)
  sum = f32[16] add(x, y)
  twice = f32[16] add(x, x)
  turned = f32[4,4] transpose(m), dimensions={1,0}
  updated = f32[16] dynamic-update-slice(x, u, i)
  scattered = f32[16] scatter(x, ids, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=first
  itself = f32[4] scatter(u, ids, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=first
  low = f32[] constant(0)
  root = f32[16] rng(low, low), distribution=rng_uniform
  ROOT t = (f32[16], f32[16], f32[4,4], f32[16], f32[16], f32[4]) tuple(sum, twice, turned, updated, scattered, itself)
})";

class KernelTest : public testing::Test {
 protected:
  void SetUp() override {
    auto module = ParseHloText(kText);
    ASSERT_TRUE(module.ok()) << module.status();
    module_ = *std::move(module);
  }
  const Instruction& Op(const std::string& name) {
    for (const Instruction* op : module_->entry()->instructions()) {
      if (op->name() == name) return *op;
    }
    return *module_->entry()->root();
  }
  std::unique_ptr<Module> module_;
};

TEST_F(KernelTest, OutputsMayLieWhereTheyAreReadAtTheSamePlaceOnly) {
  EXPECT_TRUE(MayShareBuffer(Op("sum"), 0, 0));
  EXPECT_TRUE(MayShareBuffer(Op("sum"), 1, 0));
  EXPECT_FALSE(MayShareBuffer(Op("turned"), 0, 0));
  EXPECT_TRUE(MayShareBuffer(Op("updated"), 0, 0));
  EXPECT_FALSE(MayShareBuffer(Op("updated"), 1, 0));
  EXPECT_TRUE(MayShareBuffer(Op("scattered"), 0, 0));
  EXPECT_FALSE(MayShareBuffer(Op("itself"), 0, 0));  // its updates would change under it
}

TEST_F(KernelTest, AnOperandThatOccursTwiceIsReadFromBothBuffers) {
  auto jit = *Jit::Create();
  ModuleBuilder builder("test");
  auto kernel = EmitKernel(Op("twice"), "k", builder);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  auto code = jit->Load(*std::move(builder).Compile(*jit), RuntimeSymbols());
  ASSERT_TRUE(code.ok()) << code.status();
  alignas(64) float a[16], b[16], out[16];
  for (int i = 0; i < 16; ++i) a[i] = static_cast<float>(i), b[i] = 100;
  char* buffers[] = {reinterpret_cast<char*>(a), reinterpret_cast<char*>(b), reinterpret_cast<char*>(out)};
  const KernelPhase& phase = kernel->phases[0];
  reinterpret_cast<KernelFunction>((*code)->Find(phase.function))(buffers, 0, phase.units);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(out[i], static_cast<float>(i) + 100);
}

TEST_F(KernelTest, WhatHasNoEmitterIsNamed) {
  ModuleBuilder builder("test");
  auto kernel = EmitKernel(Op("root"), "k", builder);
  EXPECT_EQ(kernel.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(kernel.status().message(), testing::HasSubstr("rng"));
}

}  // namespace
}  // namespace shoal

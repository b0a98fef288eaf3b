#include "core/codegen/sequence.h"

#include <cstring>

#include "core/codegen/module_builder.h"
#include "core/hlo/parser.h"
#include "core/jit/jit.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shoal {
namespace {

// What the executor provides, as plain as it can be.
struct TestRuntime : SequenceRuntime {
  std::vector<const Routine*> routines;
  int64_t iterations = 0, stop_after = -1, parallel_calls = 0;
  TestRuntime() {
    parallel_for = [](SequenceRuntime* self, KernelFunction fn, char* const* buffers, int64_t units,
                      int64_t) {
      ++static_cast<TestRuntime*>(self)->parallel_calls;
      for (int64_t u = units; u-- > 0;) fn(buffers, u, u + 1);
    };
    run_routine = [](SequenceRuntime* self, int64_t index, char* const* buffers) -> int64_t {
      return static_cast<TestRuntime*>(self)->routines[index]->Run(buffers).ok() ? 0 : 7;
    };
    should_stop = [](SequenceRuntime* self) -> int64_t {
      auto* runtime = static_cast<TestRuntime*>(self);
      return runtime->iterations++ == runtime->stop_after ? 3 : 0;
    };
  }
};

struct FailingRoutine : Routine {
  absl::Status Run(char* const*) const override { return absl::InternalError("on purpose"); }
};

class SequenceTest : public testing::Test {
 protected:
  void SetUp() override {
    jit_ = *Jit::Create();
    module_ = *ParseHloText(R"(
HloModule m
ENTRY main {
  i = s32[] parameter(0)
  x = f32[1000] parameter(1)
  one = s32[] constant(1)
  ten = s32[] constant(10)
  two = f32[] constant(2)
  twos = f32[1000] broadcast(two), dimensions={}
  next = s32[] add(i, one)
  less = pred[] compare(i, ten), direction=LT
  sum = f32[1000] add(x, twos)
  ROOT t = (s32[], pred[], f32[1000]) tuple(next, less, sum)
})");
  }

  // A kernel for the instruction called `name`.
  Kernel KernelFor(const std::string& name) {
    for (const Instruction* op : module_->entry()->instructions()) {
      if (op->name() == name) return *EmitKernel(*op, name, builder_);
    }
    return {};
  }

  int64_t Run(const SequenceBlock& steps, std::vector<char*> bases) {
    std::vector<const Routine*> routines;
    absl::Status emitted = EmitSequence("sequence", steps, builder_, routines);
    EXPECT_TRUE(emitted.ok()) << emitted;
    auto object = std::move(builder_).Compile(*jit_);
    EXPECT_TRUE(object.ok()) << object.status();
    auto code = jit_->Load(*object, RuntimeSymbols());
    EXPECT_TRUE(code.ok()) << code.status();
    runtime_.routines = routines;
    return reinterpret_cast<SequenceFunction>((*code)->Find("sequence"))(bases.data(), &runtime_);
  }

  std::unique_ptr<Jit> jit_;
  std::unique_ptr<Module> module_;
  ModuleBuilder builder_{"test"};
  TestRuntime runtime_;
  struct {
    int32_t i = 0, constant_one = 1, constant_ten = 10;
    int8_t predicate = 0;
    float two = 2;
    alignas(64) float x[1000] = {};
    float twos[1000];
  } memory_;
  BufferRef At(const void* field) {
    return {0, static_cast<int64_t>(reinterpret_cast<const char*>(field) -
                                    reinterpret_cast<const char*>(&memory_))};
  }
  char* base() { return reinterpret_cast<char*>(&memory_); }
};

TEST_F(SequenceTest, WhileLoopRunsItsKernelsUntilThePredicateFalls) {
  for (float& t : memory_.twos) t = 2;
  Kernel next = KernelFor("next"), less = KernelFor("less"), sum = KernelFor("sum");
  WhileLoop loop;
  loop.condition.push_back(
      {KernelCall{&less, {At(&memory_.i), At(&memory_.constant_ten), At(&memory_.predicate)}}});
  loop.predicate = At(&memory_.predicate);
  loop.body.push_back({KernelCall{&next, {At(&memory_.i), At(&memory_.constant_one), At(&memory_.i)}}});
  loop.body.push_back({KernelCall{&sum, {At(memory_.x), At(memory_.twos), At(memory_.x)}}});
  EXPECT_EQ(Run({{loop}}, {base()}), 0);
  EXPECT_EQ(memory_.i, 10);
  EXPECT_THAT(memory_.x, testing::Each(20.0f));
  EXPECT_EQ(runtime_.iterations, 11);
}

TEST_F(SequenceTest, ShouldStopEndsALoop) {
  Kernel next = KernelFor("next");
  runtime_.stop_after = 4;
  CountedLoop loop{1000000, {}};
  loop.body.push_back({KernelCall{&next, {At(&memory_.i), At(&memory_.constant_one), At(&memory_.i)}}});
  EXPECT_EQ(Run({{loop}}, {base()}), 3);
  EXPECT_EQ(memory_.i, 4);
}

TEST_F(SequenceTest, BigPhasesGoToTheRuntime) {
  for (float& t : memory_.twos) t = 2;
  Kernel sum = KernelFor("sum");
  sum.phases[0].cost_ns = 2 * kParallelNs;
  sum.phases[0].units = std::max<int64_t>(sum.phases[0].units, 2);  // only who runs them is tested
  SequenceBlock steps;
  steps.push_back({KernelCall{&sum, {At(memory_.x), At(memory_.twos), At(memory_.x)}}});
  EXPECT_EQ(Run(steps, {base()}), 0);
  EXPECT_EQ(runtime_.parallel_calls, 1);
}

TEST_F(SequenceTest, BranchesChooseByIndexAndPredicate) {
  Kernel next = KernelFor("next");
  auto increment = [&] {
    return SequenceStep{KernelCall{&next, {At(&memory_.i), At(&memory_.constant_one), At(&memory_.i)}}};
  };
  Branch by_index{At(&memory_.constant_ten), false, {{}, {increment(), increment()}}};  // 10: the last branch
  Branch by_pred{At(&memory_.predicate), true, {{}, {increment()}}};                    // false: branch 1
  EXPECT_EQ(Run({{by_index}, {by_pred}}, {base()}), 0);
  EXPECT_EQ(memory_.i, 3);
}

TEST_F(SequenceTest, AFailingRoutineStopsTheSequence) {
  Kernel failing;
  KernelPhase phase;
  phase.routine = std::make_shared<FailingRoutine>();
  failing.phases.push_back(phase);
  Kernel next = KernelFor("next");
  SequenceBlock steps;
  steps.push_back({CopyBytes{At(&memory_.constant_ten), At(&memory_.i), 4}});
  steps.push_back({KernelCall{&failing, {}}});
  steps.push_back({KernelCall{&next, {At(&memory_.i), At(&memory_.constant_one), At(&memory_.i)}}});
  EXPECT_EQ(Run(steps, {base()}), 7);
  EXPECT_EQ(memory_.i, 10);
}

}  // namespace
}  // namespace shoal

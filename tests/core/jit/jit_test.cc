#include "core/jit/jit.h"

#include <cmath>

#include "core/jit/cpu.h"
#include "core/jit/ir_module.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "llvm/IR/IRBuilder.h"

namespace shoal {
namespace {

double Twice(double x) { return 2 * x; }

// double f(double x) { return twice(x) + 1; } with `twice` undefined.
std::unique_ptr<IrModule> TwicePlusOne() {
  auto ir = std::make_unique<IrModule>("test");
  llvm::LLVMContext& context = ir->context->llvm;
  llvm::Type* f64 = llvm::Type::getDoubleTy(context);
  auto* type = llvm::FunctionType::get(f64, {f64}, false);
  auto* twice = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "twice", *ir->module);
  auto* f = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "f", *ir->module);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", f));
  b.CreateRet(b.CreateFAdd(b.CreateCall(twice, {f->getArg(0)}), llvm::ConstantFP::get(f64, 1.0)));
  return ir;
}

TEST(Jit, CompilesLoadsAndCallsOut) {
  auto jit = Jit::Create();
  ASSERT_TRUE(jit.ok()) << jit.status();
  auto object = (*jit)->Compile(TwicePlusOne());
  ASSERT_TRUE(object.ok()) << object.status();
  // The object may be loaded any number of times: that is what a compile cache does.
  for (int i = 0; i < 3; ++i) {
    RuntimeSymbol symbols[] = {{"twice", reinterpret_cast<const void*>(&Twice)}};
    auto code = (*jit)->Load(*object, symbols);
    ASSERT_TRUE(code.ok()) << code.status();
    auto f = reinterpret_cast<double (*)(double)>((*code)->Find("f"));
    ASSERT_NE(f, nullptr);
    EXPECT_EQ(f(20.5), 42.0);
    EXPECT_EQ((*code)->Find("g"), nullptr);
    EXPECT_EQ((*code)->object(), *object);
  }
}

TEST(Jit, NamesTheMissingFunction) {
  auto jit = Jit::Create();
  ASSERT_TRUE(jit.ok()) << jit.status();
  auto object = (*jit)->Compile(TwicePlusOne());
  ASSERT_TRUE(object.ok()) << object.status();
  auto code = (*jit)->Load(*object, {});
  EXPECT_EQ(code.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(code.status().message(), testing::HasSubstr("twice"));
}

TEST(Jit, DamagedObjectCodeIsAnError) {
  auto jit = Jit::Create();
  ASSERT_TRUE(jit.ok()) << jit.status();
  EXPECT_FALSE((*jit)->Load("not object code", {}).ok());
  EXPECT_FALSE((*jit)->Load("", {}).ok());
}

TEST(Jit, WrongModuleIsAnErrorNotACrash) {
  auto jit = Jit::Create();
  ASSERT_TRUE(jit.ok()) << jit.status();
  auto ir = TwicePlusOne();
  ir->module->getFunction("f")->back().getTerminator()->eraseFromParent();
  EXPECT_EQ((*jit)->Compile(std::move(ir)).status().code(), absl::StatusCode::kInternal);
}

TEST(IrModule, ReadsElementaryFunctions) {
  IrModule ir("test");
  llvm::Function* exp = ElementaryFunction(ir, "exp_f32");
  ASSERT_NE(exp, nullptr);
  EXPECT_EQ(exp->size(), 1u);  // one block, so that it can be widened
  EXPECT_EQ(ElementaryFunction(ir, "no_such_function"), nullptr);
}

TEST(Cpu, HasAFingerprint) {
  EXPECT_FALSE(ThisCpu().name.empty());
  EXPECT_GE(ThisCpu().vector_bytes, 16);
  EXPECT_EQ(CpuFingerprint(), CpuFingerprint());
}

}  // namespace
}  // namespace shoal

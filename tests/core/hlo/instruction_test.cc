#include "core/hlo/instruction.h"

#include "gtest/gtest.h"

namespace shoal {
namespace {

const Shape kVec = Shape::Array(ElementType::kF32, {5});

// entry(p0, p1) = (p0 + p1) * p0
struct Sample {
  Module module{"m"};
  Computation* entry = module.AddComputation("entry");
  Instruction* p0 = entry->AddParameter(0, kVec, "x");
  Instruction* p1 = entry->AddParameter(1, kVec, "y");
  Instruction* add = entry->Add(Opcode::kAdd, kVec, {p0, p1});
  Instruction* mul = entry->Add(Opcode::kMultiply, kVec, {add, p0});
  Sample() {
    entry->set_root(mul);
    module.set_entry(entry);
  }
};

TEST(InstructionTest, KeepsUsersOnce) {
  Sample s;
  EXPECT_EQ(s.p0->users().size(), 2);
  s.mul->ReplaceOperand(0, s.p0);
  EXPECT_TRUE(s.add->users().empty());
  EXPECT_EQ(s.p0->users().size(), 2);
  s.mul->ReplaceOperand(0, s.p1);
  EXPECT_EQ(s.p0->users().size(), 2);
  s.mul->ReplaceOperand(1, s.p1);
  EXPECT_EQ(s.p0->users().size(), 1);
}

TEST(InstructionTest, ReplacingUsesMovesTheRootAndSortingRestoresOrder) {
  Sample s;
  Instruction* sub = s.entry->Add(Opcode::kSubtract, kVec, {s.p0, s.p1});
  s.add->ReplaceAllUsesWith(sub);
  s.entry->Remove(s.add);
  ASSERT_TRUE(s.entry->SortTopologically());
  const auto order = s.entry->instructions();
  ASSERT_EQ(order.size(), 4);
  EXPECT_EQ(order[2], sub);
  EXPECT_EQ(order[3], s.mul);
  Instruction* neg = s.entry->Add(Opcode::kNegate, kVec, {s.mul});
  s.mul->ReplaceAllUsesWith(neg);  // but not in neg itself
  EXPECT_EQ(s.entry->root(), neg);
  EXPECT_EQ(neg->operand(0), s.mul);
}

TEST(InstructionTest, FindsCycles) {
  Sample s;
  s.add->ReplaceOperand(0, s.mul);
  EXPECT_FALSE(s.entry->SortTopologically());
}

TEST(InstructionTest, NamesAreUniqueAndNumbersAreOurs) {
  Sample s;
  EXPECT_EQ(s.entry->Add(Opcode::kAdd, kVec, {s.p0, s.p1})->name(), "add.1");
  EXPECT_EQ(s.entry->Add(Opcode::kAdd, kVec, {s.p0, s.p1}, {}, {}, "add.1")->name(), "add.2");
}

TEST(AttributesTest, EqualityAndHashGoByTheFields) {
  const Attributes lt = CompareAttributes{ComparisonDirection::kLt};
  EXPECT_EQ(lt, Attributes(CompareAttributes{ComparisonDirection::kLt}));
  EXPECT_FALSE(lt == Attributes(CompareAttributes{ComparisonDirection::kGt}));
  EXPECT_FALSE(lt == Attributes(CompareAttributes{ComparisonDirection::kLt, /*total_order=*/true}));
  EXPECT_EQ(HashOf(lt), HashOf(CompareAttributes{ComparisonDirection::kLt}));
}

TEST(ModuleTest, CloneCopiesCalleesOnceAndKeepsConfig) {
  Sample s;
  Computation* callee = s.module.AddComputation("f");
  callee->set_root(callee->Add(Opcode::kNegate, kVec, {callee->AddParameter(0, kVec)}));
  Instruction* c1 = s.entry->Add(Opcode::kCall, kVec, {s.mul}, {}, {callee});
  Instruction* c2 = s.entry->Add(Opcode::kCall, kVec, {c1}, {}, {callee});
  s.entry->set_root(c2);
  s.module.config().num_partitions = 3;
  auto clone = s.module.Clone();
  EXPECT_EQ(clone->computations().size(), 2);
  EXPECT_EQ(clone->instruction_count(), s.module.instruction_count());
  EXPECT_EQ(clone->config().num_partitions, 3);
  EXPECT_EQ(clone->entry()->root()->called(0), clone->entry()->root()->operand(0)->called(0));
}

TEST(ModuleTest, LongChainsSortAndShrinkWithoutRecursion) {
  Module module("m");
  Computation* entry = module.AddComputation("entry");
  Instruction* last = entry->AddParameter(0, kVec);
  for (int i = 0; i < 200000; ++i) last = entry->Add(Opcode::kNegate, kVec, {last});
  entry->set_root(last);
  ASSERT_TRUE(entry->SortTopologically());
  EXPECT_EQ(entry->root(), entry->instructions().back());
}

TEST(ModuleTest, UnreachableComputationsGo) {
  Sample s;
  s.module.AddComputation("unused");
  s.module.RemoveUnreachableComputations();
  EXPECT_EQ(s.module.computations().size(), 1);
}

}  // namespace
}  // namespace shoal

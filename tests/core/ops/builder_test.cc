// HloBuilder: shapes follow, mistakes are kept.
#include "core/ops/builder.h"

#include "core/hlo/printer.h"
#include "core/ops/verify.h"
#include "gtest/gtest.h"

namespace shoal {
namespace {

TEST(HloBuilder, BuildsWhatVerifies) {
  Module module("m");
  Computation* entry = module.AddComputation("main");
  module.set_entry(entry);
  HloBuilder b(entry);
  Instruction* x = entry->AddParameter(0, Shape::Array(ElementType::kF32, {3, 1}), "x");
  Instruction* wide = b.Broadcast(b.Reshape(x, {3}), {2, 3, 5}, {1});
  EXPECT_EQ(wide->shape().ToString(), "f32[2,3,5]");
  Instruction* sum = b.Reduce(b.Add(wide, b.Splat(wide->shape(), 2.5)), b.Scalar(ElementType::kF32, 0),
                              {0, 2}, AddScalarBody(module, Opcode::kAdd, ElementType::kF32));
  EXPECT_EQ(sum->shape().ToString(), "f32[3]");
  DotAttributes outer;
  Instruction* dot = b.Dot(sum, b.Reshape(sum, {3}), outer, ElementType::kF64);
  EXPECT_EQ(dot->shape().ToString(), "f64[3,3]");
  Instruction* slice = b.SliceInDim(b.Concatenate({dot, b.Transpose(dot, {1, 0})}, 1), 1, 2, 5);
  entry->set_root(b.Convert(slice, ElementType::kBF16));
  EXPECT_TRUE(b.status().ok()) << b.status();
  EXPECT_TRUE(Verify(module).ok()) << Verify(module) << ToText(module);
}

TEST(HloBuilder, MistakesAreKept) {
  Module module("m");
  HloBuilder b(module.AddComputation("main"));
  Instruction* x = b.computation()->AddParameter(0, Shape::Array(ElementType::kF32, {3}));
  b.Add(x, b.Scalar(ElementType::kF32, 1));
  EXPECT_EQ(b.status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(b.Make(Opcode::kAdd, {x}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(HloBuilder, ScalarsOfEveryTypeHoldTheirNumber) {
  for (ElementType type : AllElementTypes()) {
    if (type == ElementType::kToken) continue;
    EXPECT_EQ(ScalarLiteral(type, 1).AsDouble(0), 1) << type;
    if (IsSigned(type) && BitWidth(type) > 1) EXPECT_EQ(IntLiteral(type, -1).AsInt(0), -1) << type;
  }
}

}  // namespace
}  // namespace shoal

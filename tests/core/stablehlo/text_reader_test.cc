// Forms of StableHLO text. What a form means is checked against the generic form of the same operation, whose
// tree is the dialect's definition written out.
#include "core/stablehlo/text_reader.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shoal {
namespace {

using ::testing::HasSubstr;

std::string Function(absl::string_view arguments, absl::string_view body) {
  return absl::StrCat("func.func @main(", arguments, ") {\n", body, "\n return\n}");
}

// The tree with attributes sorted, so that their order in the source does not count.
void SortAttributes(MlirOperation* op) {
  std::sort(op->attributes.begin(), op->attributes.end(),
            [](const MlirNamedAttribute& a, const MlirNamedAttribute& b) { return a.name < b.name; });
  for (MlirRegion* region : op->regions) {
    for (MlirBlock* block : region->blocks) {
      for (MlirOperation* inner : block->operations) SortAttributes(inner);
    }
  }
}

std::string Tree(const std::string& text) {
  auto module = ReadMlirText(text);
  if (!module.ok()) return absl::StrCat(module.status().ToString(), " in ", text);
  SortAttributes((*module)->top);
  return ToString(*(*module)->top);
}

std::string ErrorOf(const std::string& text) {
  auto module = ReadMlirText(text);
  return module.ok() ? "no error" : std::string(module.status().message());
}

struct Pair {
  absl::string_view arguments, pretty, generic;
};

const Pair kPairs[] = {
    {"%a: tensor<3xf32>", "%0 = stablehlo.negate %a : tensor<3xf32>",
     "%0 = \"stablehlo.negate\"(%a) : (tensor<3xf32>) -> tensor<3xf32>"},
    {"%a: tensor<3xi1>, %b: tensor<3xf32>", "%0 = stablehlo.select %a, %b, %b : tensor<3xi1>, tensor<3xf32>",
     "%0 = \"stablehlo.select\"(%a, %b, %b) : (tensor<3xi1>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>"},
    {"%a: tensor<3xf32>", "%0 = stablehlo.complex %a, %a : tensor<3xcomplex<f32>>",
     "%0 = \"stablehlo.complex\"(%a, %a) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xcomplex<f32>>"},
    {"%a: tensor<3xi32>",
     "%0 = stablehlo.compare LT, %a, %a, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>",
     "%0 = \"stablehlo.compare\"(%a, %a) <{compare_type = #stablehlo<comparison_type SIGNED>, "
     "comparison_direction = "
     "#stablehlo<comparison_direction LT>}> : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>"},
    {"", "%0 = stablehlo.iota dim = 1 : tensor<3x5xi32>",
     "%0 = \"stablehlo.iota\"() <{iota_dimension = 1 : i64}> : () -> tensor<3x5xi32>"},
    {"%a: tensor<3xf32>",
     "%0 = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>",
     "%0 = \"stablehlo.broadcast_in_dim\"(%a) <{broadcast_dimensions = array<i64: 1>}> : (tensor<3xf32>) -> "
     "tensor<2x3xf32>"},
    {"%a: tensor<7x9xf32>", "%0 = stablehlo.slice %a [1:7:2, 0:9] : (tensor<7x9xf32>) -> tensor<3x9xf32>",
     "%0 = \"stablehlo.slice\"(%a) <{limit_indices = array<i64: 7, 9>, start_indices = array<i64: 1, 0>, "
     "strides = "
     "array<i64: 2, 1>}> : (tensor<7x9xf32>) -> tensor<3x9xf32>"},
    {"%a: tensor<3xf32>, %p: tensor<f32>",
     "%0 = stablehlo.pad %a, %p, low = [-1], high = [2], interior = [1] : (tensor<3xf32>, tensor<f32>) -> "
     "tensor<6xf32>",
     "%0 = \"stablehlo.pad\"(%a, %p) <{edge_padding_high = array<i64: 2>, edge_padding_low = array<i64: -1>, "
     "interior_padding = array<i64: 1>}> : (tensor<3xf32>, tensor<f32>) -> tensor<6xf32>"},
    {"%a: tensor<2x5x7xf32>, %b: tensor<2x7x3xf32>",
     "%0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision "
     "= [HIGH, "
     "DEFAULT] : (tensor<2x5x7xf32>, tensor<2x7x3xf32>) -> tensor<2x5x3xf32>",
     "%0 = \"stablehlo.dot_general\"(%a, %b) <{dot_dimension_numbers = "
     "#stablehlo.dot<lhs_batching_dimensions = [0], "
     "rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, "
     "precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>]}> : (tensor<2x5x7xf32>, "
     "tensor<2x7x3xf32>) -> tensor<2x5x3xf32>"},
    {"%x: tensor<2x9x3xf32>, %k: tensor<3x3x8xf32>",
     "%0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = "
     "[2], pad = "
     "[[0, 1]], rhs_dilate = [1], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : "
     "i64} : "
     "(tensor<2x9x3xf32>, tensor<3x3x8xf32>) -> tensor<2x4x8xf32>",
     "%0 = \"stablehlo.convolution\"(%x, %k) <{dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, "
     "0, f]>, "
     "window_strides = array<i64: 2>, padding = array<i64: 0, 1>, rhs_dilation = array<i64: 1>, "
     "window_reversal = "
     "array<i64: 1>, batch_group_count = 1 : i64, feature_group_count = 1 : i64}> : (tensor<2x9x3xf32>, "
     "tensor<3x3x8xf32>) -> tensor<2x4x8xf32>"},
    {"%a: tensor<5x7xf32>, %c: tensor<f32>",
     "%0 = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [1] : (tensor<5x7xf32>, "
     "tensor<f32>) -> tensor<5xf32>",
     "%0 = \"stablehlo.reduce\"(%a, %c) <{dimensions = array<i64: 1>}> ({\n^bb0(%x: tensor<f32>, %y: "
     "tensor<f32>):\n "
     "%1 = \"stablehlo.add\"(%x, %y) : (tensor<f32>, tensor<f32>) -> tensor<f32>\n \"stablehlo.return\"(%1) "
     ": "
     "(tensor<f32>) -> ()\n}) : (tensor<5x7xf32>, tensor<f32>) -> tensor<5xf32>"},
    {"%a: tensor<7xf32>, %i: tensor<7xi32>, %c: tensor<f32>, %d: tensor<i32>",
     "%0:2 = stablehlo.reduce(%a init: %c), (%i init: %d) across dimensions = [0] : (tensor<7xf32>, "
     "tensor<7xi32>, "
     "tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)\n reducer(%p: tensor<f32>, %q: tensor<f32>) "
     "(%r: "
     "tensor<i32>, %s: tensor<i32>) {\n stablehlo.return %q, %r : tensor<f32>, tensor<i32>\n}",
     "%0:2 = \"stablehlo.reduce\"(%a, %i, %c, %d) <{dimensions = array<i64: 0>}> ({\n^bb0(%p: tensor<f32>, "
     "%r: "
     "tensor<i32>, %q: tensor<f32>, %s: tensor<i32>):\n \"stablehlo.return\"(%q, %r) : (tensor<f32>, "
     "tensor<i32>) -> "
     "()\n}) : (tensor<7xf32>, tensor<7xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)"},
    {"%a: tensor<i32>",
     "%0 = stablehlo.while(%s = %a) : tensor<i32>\n cond {\n %1 = stablehlo.compare LT, %s, %s : "
     "(tensor<i32>, "
     "tensor<i32>) -> tensor<i1>\n stablehlo.return %1 : tensor<i1>\n} do {\n stablehlo.return %s : "
     "tensor<i32>\n}",
     "%0 = \"stablehlo.while\"(%a) ({\n^bb0(%s: tensor<i32>):\n %1 = \"stablehlo.compare\"(%s, %s) "
     "<{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> "
     "tensor<i1>\n "
     "\"stablehlo.return\"(%1) : (tensor<i1>) -> ()\n}, {\n^bb0(%s: tensor<i32>):\n \"stablehlo.return\"(%s) "
     ": "
     "(tensor<i32>) -> ()\n}) : (tensor<i32>) -> tensor<i32>"},
    {"%a: tensor<3xf64>", "%0 = stablehlo.reduce_precision %a, format = e8m7 : tensor<3xf64>",
     "%0 = \"stablehlo.reduce_precision\"(%a) <{exponent_bits = 8 : i64, mantissa_bits = 7 : i64}> : "
     "(tensor<3xf64>) "
     "-> tensor<3xf64>"},
    {"%t: tuple<tensor<i1>, tensor<f32>>",
     "%0 = stablehlo.get_tuple_element %t[1] : (tuple<tensor<i1>, tensor<f32>>) -> tensor<f32>",
     "%0 = \"stablehlo.get_tuple_element\"(%t) <{index = 1 : i64}> : (tuple<tensor<i1>, tensor<f32>>) -> "
     "tensor<f32>"},
    {"%a: tensor<8x6xf32>",
     "%0 = sdy.sharding_constraint %a <@mesh, [{\"x\", ?}p1, {\"y\":(2)2}]> : tensor<8x6xf32>",
     "%0 = \"sdy.sharding_constraint\"(%a) <{sharding = #sdy.sharding<@mesh, [{\"x\", ?}p1, {\"y\":(2)2}]>}> "
     ": "
     "(tensor<8x6xf32>) -> tensor<8x6xf32>"},
    {"%a: tensor<8xf32>",
     "%0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{\"x\"}]>] out_shardings=[<@mesh, [{\"x\"}], "
     "replicated={\"y\"}>] manual_axes={\"x\"} (%b: tensor<4xf32>) {\n sdy.return %b : tensor<4xf32>\n} : "
     "(tensor<8xf32>) -> tensor<8xf32>",
     "%0 = \"sdy.manual_computation\"(%a) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{\"x\"}]>]>, "
     "out_shardings = #sdy.sharding_per_value<[<@mesh, [{\"x\"}], replicated={\"y\"}>]>, manual_axes = "
     "#sdy<manual_axes{\"x\"}>}> ({\n^bb0(%b: tensor<4xf32>):\n \"sdy.return\"(%b) : (tensor<4xf32>) -> "
     "()\n}) : "
     "(tensor<8xf32>) -> tensor<8xf32>"},
};

TEST(TextReaderTest, PrettyAndGenericFormsMeanTheSame) {
  for (const Pair& pair : kPairs) {
    const std::string pretty = Tree(Function(pair.arguments, pair.pretty));
    EXPECT_EQ(pretty, Tree(Function(pair.arguments, pair.generic)));
    EXPECT_THAT(pretty, HasSubstr("builtin.module"));
  }
}

std::string Constant(absl::string_view literal) {
  MlirModule module;
  auto attribute = ParseMlirAttributeText(literal, &module);
  return attribute.ok() ? ToString(**attribute) : std::string(attribute.status().message());
}

TEST(TextReaderTest, Constants) {
  EXPECT_EQ(Constant("dense<[[1, -2], [3, 0x10]]> : tensor<2x2xi16>"),
            "dense<\"0x0100feff03001000\"> : tensor<2x2xi16>");
  EXPECT_EQ(Constant("dense<1.500000e+00> : tensor<4xf32>"), "dense<\"0x0000c03f\"> : tensor<4xf32>");
  EXPECT_EQ(Constant("dense<0x7F800000> : tensor<f32>"), "dense<\"0x0000807f\"> : tensor<f32>");
  EXPECT_EQ(Constant("dense<0xFF80> : tensor<bf16>"), "dense<\"0x80ff\"> : tensor<bf16>");
  EXPECT_EQ(Constant("dense<[true, false, true]> : tensor<3xi1>"), "dense<\"0x010001\"> : tensor<3xi1>");
  EXPECT_EQ(Constant("dense<\"0x0000803F00000040\"> : tensor<2xf32>"),
            "dense<\"0x0000803f00000040\"> : tensor<2xf32>");
  EXPECT_EQ(Constant("dense<(1.0, -2.0)> : tensor<complex<f32>>"),
            "dense<\"0x0000803f000000c0\"> : tensor<complex<f32>>");
  EXPECT_EQ(Constant("dense<> : tensor<0x3xf32>"), "dense<\"0x\"> : tensor<0x3xf32>");
  EXPECT_THAT(Constant("dense<[1, 2, 3]> : tensor<2xi32>"), HasSubstr("with 12 bytes"));
  EXPECT_THAT(Constant("dense<[1.5]> : tensor<1xi32>"), HasSubstr("'1.5' is not an element of type i32"));
}

TEST(TextReaderTest, AttributesPrintAsTheyAreRead) {
  for (absl::string_view text :
       {"{a = 1 : i64, b = \"q\\22\\0A\", c = [true, unit], d = @f::@g}", "array<i64: 1, -2>",
        "18446744073709551615 : ui64", "array<i1: true, false>", "tensor<2x?xf32>",
        "(tensor<f32>) -> (!stablehlo.token)", "!stablehlo.future<tensor<2xf32>>"}) {
    EXPECT_EQ(Constant(text), text);
  }
}

TEST(TextReaderTest, AliasesMayBeUsedBeforeTheyAreDefined) {
  const std::string text =
      "#mine = {k = 3 : i32}\nmodule @m attributes {a = #mine} {\n func.func @main(%x: tensor<f32> "
      "loc(#loc1)) -> "
      "tensor<f32> {\n return %x : tensor<f32> loc(#loc2)\n } loc(#loc)\n} loc(#loc)\n#loc = "
      "loc(unknown)\n#loc1 = "
      "loc(\"x\")\n#loc2 = loc(\"jit(f)/add\"(callsite(\"f.py\":3:4 at fused[#loc1, \"g.py\":1:2 to :9])))\n";
  auto module = ReadMlirText(text);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(ToString(*(*module)->top->Find("a")), "{k = 3 : i32}");
  const MlirOperation* function = (*module)->top->regions[0]->blocks[0]->operations[0];
  const MlirBlock* block = function->regions[0]->blocks[0];
  EXPECT_EQ(LocationName(block->arguments[0]->location), "x");
  EXPECT_EQ(LocationName(block->operations[0]->location), "jit(f)/add");
}

TEST(TextReaderTest, ResourcesAreFoundAtTheEnd) {
  const std::string text =
      "func.func @main() {\n %0 = stablehlo.constant dense_resource<blob> : tensor<2xf32>\n return\n}\n"
      "{-#\n dialect_resources: {\n builtin: {\n blob: \"0x040000000000803F00000040\"\n }\n }\n#-}\n";
  auto module = ReadMlirText(text);
  ASSERT_TRUE(module.ok()) << module.status();
  const MlirOperation* function = (*module)->top->regions[0]->blocks[0]->operations[0];
  EXPECT_EQ(function->regions[0]->blocks[0]->operations[0]->Find("value")->data,
            std::string("\0\0\x80\x3F\0\0\0\x40", 8));
}

TEST(TextReaderTest, ErrorsSayWhatAndWhere) {
  const std::string head = "func.func @main(%a: tensor<3xf32>) {\n";
  EXPECT_THAT(ErrorOf(head + " %0 = stablehlo.add %a, %b : tensor<3xf32>\n}"),
              HasSubstr("line 2, column 27: the value %b is not defined here"));
  EXPECT_THAT(ErrorOf(head + " %0 = stablehlo.iota dims = 1 : tensor<3xf32>\n}"),
              HasSubstr("'[' is expected"));
  EXPECT_THAT(ErrorOf(head + " %0 = stablehlo.negate %a : tensor<3xq32>\n}"),
              HasSubstr("'q32' is not a type"));
  EXPECT_THAT(ErrorOf(head + " %a = stablehlo.negate %a : tensor<3xf32>\n}"), HasSubstr("defined twice"));
  EXPECT_THAT(ErrorOf(head + " %0:2 = stablehlo.negate %a : tensor<3xf32>\n}"),
              HasSubstr("has 1 results where 2"));
  EXPECT_THAT(ErrorOf(head), HasSubstr("an operation is expected"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("there is no module"));
  EXPECT_THAT(ErrorOf("#a = #a\nmodule attributes {x = #a} {}"), HasSubstr("does not name an attribute"));
  EXPECT_THAT(ErrorOf("module attributes {x = " + std::string(1000, '[')), HasSubstr("nested more than"));
}

}  // namespace
}  // namespace shoal

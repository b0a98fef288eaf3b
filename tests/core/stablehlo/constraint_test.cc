// Each row breaks one constraint of StableHLO's specification that the importer checks (core/ops checks the
// others, on HLO), and expects its label. tests/specification/verifier.py runs StableHLO's own list of such
// programs.
#include <string>

#include "absl/strings/str_cat.h"
#include "core/ops/verify.h"
#include "core/stablehlo/import.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shoal {
namespace {

struct Case {
  const char* label;   // as the message has it
  const char* region;  // for BODY
  const char* operation;
};

constexpr char kArguments[] =
    "%x: tensor<4x8xf32>, %y: tensor<4x8xf64>, %i: tensor<i32>, %z: tensor<f32>, %v: tensor<8xf32>, "
    "%q: tensor<8x!quant.uniform<i8:f32, 2.0>>, %q0: tensor<!quant.uniform<i8:f32, 2.0>>";
constexpr char kAdd[] =
    "({^bb0(%a: tensor<f32>, %b: tensor<f32>): %s = stablehlo.add %a, %b : tensor<f32> "
    "stablehlo.return %s : tensor<f32>})";
constexpr char kAddNarrow[] =
    "({^bb0(%a: tensor<f16>, %b: tensor<f16>): %s = stablehlo.add %a, %b : tensor<f16> "
    "stablehlo.return %s : tensor<f16>})";

constexpr char kAddQuantizedOfDouble[] =
    "({^bb0(%a: tensor<!quant.uniform<i32:f64, 2.0>>, %b: tensor<!quant.uniform<i32:f64, 2.0>>): "
    "%s = stablehlo.add %a, %b : tensor<!quant.uniform<i32:f64, 2.0>> "
    "stablehlo.return %s : tensor<!quant.uniform<i32:f64, 2.0>>})";

constexpr char kSlice[] =
    "({^bb0(%a: tensor<8xf32>): %s = stablehlo.slice %a [0:3] : (tensor<8xf32>) -> tensor<3xf32> "
    "stablehlo.return %s : tensor<3xf32>})";
constexpr char kSliceOfNegated[] =
    "({^bb0(%a: tensor<8xf32>): %b = stablehlo.negate %a : tensor<8xf32> "
    "%s = stablehlo.slice %b [0:3] : (tensor<8xf32>) -> tensor<3xf32> stablehlo.return %s : tensor<3xf32>})";
constexpr char kNegate[] =
    "({^bb0(%a: tensor<8xf32>): %s = stablehlo.negate %a : tensor<8xf32> "
    "stablehlo.return %s : tensor<8xf32>})";

constexpr Case kCases[] = {
    {"all_gather.*C2:", "",
     R"("stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>} : (tensor<4x8xf32>) -> tensor<8x8xf32>)"},
    {"all_gather.*C3:", "",
     R"("stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x8xf32>) -> tensor<8x8xf32>)"},
    {"all_gather.*C4:", "",
     R"("stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 4]]> : tensor<1x2xi64>} : (tensor<4x8xf32>) -> tensor<8x8xf32>)"},
    {"all_gather.*C5:", "",
     R"("stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids} : (tensor<4x8xf32>) -> tensor<8x8xf32>)"},
    {"all_to_all.*C4:", "",
     R"("stablehlo.all_to_all"(%x) {split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<4x8xf32>) -> tensor<1x32xf32>)"},
    {"all_to_all.*C8:", "",
     R"("stablehlo.all_to_all"(%x) {split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<4x8xf32>) -> tensor<1x32xf32>)"},
    {"collective_permute.*C1:", "",
     R"("stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0, 1, 2]]> : tensor<1x3xi64>} : (tensor<4x8xf32>) -> tensor<4x8xf32>)"},
    {"collective_permute.*C4:", "",
     R"("stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0, 4]]> : tensor<1x2xi64>} : (tensor<4x8xf32>) -> tensor<4x8xf32>)"},
    {"async_start.*C1:", kSliceOfNegated,
     R"("stablehlo.async_start"(%v) BODY : (tensor<8xf32>) -> !stablehlo.future<tensor<3xf32>>)"},
    {"async_start.*C2:", kNegate,
     R"("stablehlo.async_start"(%v) BODY : (tensor<8xf32>) -> !stablehlo.future<tensor<8xf32>>)"},
    {"async_start.*C3:", kSlice,
     R"("stablehlo.async_start"(%v, %v) BODY : (tensor<8xf32>, tensor<8xf32>) -> !stablehlo.future<tensor<3xf32>>)"},
    {"async_start.*C3:", kSlice,
     R"("stablehlo.async_start"(%x) BODY : (tensor<4x8xf32>) -> !stablehlo.future<tensor<3xf32>>)"},
    {"async_start.*C4:", kSlice,
     R"("stablehlo.async_start"(%v) BODY : (tensor<8xf32>) -> !stablehlo.future<tensor<3xf64>>)"},
    {"async_start.*C4:", kSlice, R"("stablehlo.async_start"(%v) BODY : (tensor<8xf32>) -> tensor<3xf32>)"},
    {"async_done.*C1:", "", R"("stablehlo.async_done"(%z) : (tensor<f32>) -> tensor<f32>)"},
    {"batch_norm_inference.*C1:", "",
     R"("stablehlo.batch_norm_inference"(%x, %v, %v, %v, %v) {epsilon = 0.1 : f32, feature_index = 2 : i64} : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>)"},
    {"batch_norm_inference.*C2:", "",
     R"("stablehlo.batch_norm_inference"(%y, %v, %v, %v, %v) {epsilon = 0.1 : f32, feature_index = 1 : i64} : (tensor<4x8xf64>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf64>)"},
    {"batch_norm_inference.*C3:", "",
     R"("stablehlo.batch_norm_inference"(%x, %v, %v, %v, %v) {epsilon = 0.1 : f32, feature_index = 0 : i64} : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>)"},
    {"broadcast_in_dim.*C2:", "",
     "stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<4x8xf32>) -> tensor<4x8xf32>"},
    {"broadcast_in_dim.*C3:", "",
     "stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<4x8xf32>) -> tensor<4x8xf32>"},
    {"dot_general.*C11:", "",
     "stablehlo.dot_general %v, %v, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT, DEFAULT] : "
     "(tensor<8xf32>, tensor<8xf32>) -> tensor<f32>"},
    {"dot_general.*I9:", "",
     R"("stablehlo.dot_general"(%v, %v) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>, algorithm = #stablehlo.dot_algorithm<lhs_precision_type = tf32, rhs_precision_type = i8, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>}> : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>)"},
    {"set_dimension_size.*I2:", "",
     R"("stablehlo.set_dimension_size"(%v, %two) {dimension = 0 : i64} : (tensor<8xf32>, tensor<1xi64>) -> tensor<8xf32>)"},
    {"dynamic_iota.*C2:", "", "stablehlo.dynamic_iota %two, dim = 0 : (tensor<1xi64>) -> tensor<3xi32>"},
    {"dynamic_reshape.*C4:", "",
     "stablehlo.dynamic_reshape %v, %two : (tensor<8xf32>, tensor<1xi64>) -> tensor<8xf32>"},
    {"rng.*C3:", "",
     R"("stablehlo.rng"(%z, %z, %two) {rng_distribution = #stablehlo<rng_distribution UNIFORM>} : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<3xf32>)"},
    {"case.*C1:", "", R"("stablehlo.case"(%i) : (tensor<i32>) -> tensor<f32>)"},
    {"case.*C2:", "",
     R"("stablehlo.case"(%i) ({^bb0(%a: tensor<f32>): stablehlo.return %a : tensor<f32>}) : (tensor<i32>) -> tensor<f32>)"},
    {"while.*C1:", "",
     R"("stablehlo.while"(%z) ({^bb0(%a: tensor<f64>): %c = stablehlo.constant dense<true> : tensor<i1> stablehlo.return %c : tensor<i1>}, {^bb0(%a: tensor<f32>): stablehlo.return %a : tensor<f32>}) : (tensor<f32>) -> tensor<f32>)"},
    {"while.*C2:", "",
     R"("stablehlo.while"(%z) ({^bb0(%a: tensor<f32>): %c = stablehlo.constant dense<true> : tensor<i1> stablehlo.return %c : tensor<i1>}, {^bb0(%a: tensor<f32>): stablehlo.return %a, %a : tensor<f32>, tensor<f32>}) : (tensor<f32>) -> tensor<f32>)"},
    {"composite.*C1:", "",
     R"("stablehlo.composite"(%z) {name = "half", decomposition = @half} : (tensor<f32>) -> tensor<f32>)"},
    {"composite.*C3:", "",
     R"("stablehlo.composite"(%x) {name = "my.half", decomposition = @half} : (tensor<4x8xf32>) -> tensor<f32>)"},
    {"composite.*C4:", "",
     R"("stablehlo.composite"(%z) {name = "my.half", decomposition = @half} : (tensor<f32>) -> tensor<f64>)"},
    {"reduce .*C6:", kAddNarrow,
     R"("stablehlo.reduce"(%x, %z) BODY {dimensions = array<i64: 0, 1>} : (tensor<4x8xf32>, tensor<f32>) -> tensor<f16>)"},
    {"reduce .*C6: operand 0 stands for f32", kAddQuantizedOfDouble,
     R"("stablehlo.reduce"(%q, %q0) BODY {dimensions = array<i64: 0>} : (tensor<8x!quant.uniform<i8:f32, 2.0>>, tensor<!quant.uniform<i8:f32, 2.0>>) -> tensor<!quant.uniform<i32:f64, 2.0>>)"},
    {"all_reduce.*C5:", kAddNarrow,
     R"("stablehlo.all_reduce"(%x) BODY {replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<4x8xf32>) -> tensor<4x8xf16>)"},
    {"reduce_window.*C4:", kAdd,
     R"("stablehlo.reduce_window"(%x, %z) BODY {window_dimensions = array<i64: 2>} : (tensor<4x8xf32>, tensor<f32>) -> tensor<3x7xf32>)"},
    {"reduce_window.*C12:", kAdd,
     R"("stablehlo.reduce_window"(%x, %z) BODY {window_dimensions = array<i64: 2, 2>, padding = dense<0> : tensor<4x1xi64>} : (tensor<4x8xf32>, tensor<f32>) -> tensor<3x7xf32>)"},
    {"map.*C3:", kAdd,
     R"("stablehlo.map"(%x, %x) BODY {dimensions = array<i64: 1, 0>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>)"},
    {"map.*C4:", kAdd,
     R"("stablehlo.map"(%x, %y) BODY {dimensions = array<i64: 0, 1>} : (tensor<4x8xf32>, tensor<4x8xf64>) -> tensor<4x8xf32>)"},
    {"abs C2:", "", "stablehlo.abs %x : (tensor<4x8xf32>) -> tensor<4x8xf64>"},
    {"quantised type: C3:", "",
     "stablehlo.uniform_quantize %v : (tensor<8xf32>) -> tensor<8x!quant.uniform<i8<5:5>:f32, 0.5>>"},
    {"quantised type: C5:", "",
     "stablehlo.uniform_quantize %v : (tensor<8xf32>) -> tensor<8x!quant.uniform<i8:f32, 0.0>>"},
    {"quantised type: C7:", "",
     "stablehlo.uniform_quantize %v : (tensor<8xf32>) -> tensor<8x!quant.uniform<u8:f32, 0.5:-1>>"},
    {"C13: 2 scales along dimension 0", "",
     "stablehlo.uniform_quantize %v : (tensor<8xf32>) -> tensor<8x!quant.uniform<i8:f32:0, {0.5,0.25:1}>>"},
    {"uniform_quantize.*C2:", "",
     "stablehlo.uniform_quantize %y : (tensor<4x8xf64>) -> tensor<4x8x!quant.uniform<i8:f32, 0.5>>"},
    {"add.*C2:", "",
     R"("stablehlo.add"(%v, %v) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8x!quant.uniform<i8:f32, 0.5>>)"},
    {"collective_broadcast.*C4:", "",
     R"("stablehlo.collective_broadcast"(%v, %i) {has_dynamic_root = true, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<8xf32>, tensor<i32>) -> tensor<8xf32>)"},
    {"select_and_scatter.*C4:", "",
     R"("stablehlo.select_and_scatter"(%x, %x, %z) ({}, {}) : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>)"},
    {"cosine.*result_accuracy: ulps", "",
     R"("stablehlo.cosine"(%x) {result_accuracy = #stablehlo.result_accuracy<atol = 0.0, rtol = 0.0, ulps = 4, mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : (tensor<4x8xf32>) -> tensor<4x8xf32>)"},
    {"custom_call.*C1:", "",
     R"("stablehlo.custom_call"(%x) {call_target_name = "f", operand_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<4x8xf32>) -> tensor<4x8xf32>)"},
    {"custom_call.*version 3 is a dictionary", "",
     R"("stablehlo.custom_call"(%x) {call_target_name = "f", api_version = 3 : i32, backend_config = {a = 1 : i32}} : (tensor<4x8xf32>) -> tensor<4x8xf32>)"},
    {"C4: 4 numbers of padding", "",
     "stablehlo.convolution(%x, %x) dim_numbers = [b, f]x[o, i]->[b, f], window = {stride = [], pad = [[1, "
     "1, 1, 1]]} "
     "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>) -> "
     "tensor<4x4xf32>"},
    {"convolution.*C4:", "",
     "stablehlo.convolution(%x, %x) dim_numbers = [b, f]x[i, o]->[b, f], window = {pad = [[1, 1]]} "
     "{batch_group_count = 1 : "
     "i64, feature_group_count = 1 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>"},
};

TEST(StablehloConstraints, EachIsNamedByItsLabel) {
  for (const Case& row : kCases) {
    SCOPED_TRACE(absl::StrCat(row.label, " ", row.operation));
    std::string operation = row.operation;
    if (const size_t at = operation.find("BODY"); at != std::string::npos)
      operation.replace(at, 4, row.region);
    const std::string program = absl::StrCat(
        "module attributes {mhlo.num_replicas = 4 : i32} {\n",
        "func.func private @half(%a: tensor<f32>) -> tensor<f32> { return %a : tensor<f32> }\n",
        "func.func public @main(", kArguments,
        ") {\n %two = stablehlo.constant dense<2> : tensor<1xi64>\n %r = ", operation, "\n return\n}\n}\n");
    absl::StatusOr<std::unique_ptr<Module>> module = ImportStableHlo(program);
    const absl::Status status = module.ok() ? Verify(**module) : module.status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), ::testing::ContainsRegex(row.label));
  }
}

}  // namespace
}  // namespace shoal

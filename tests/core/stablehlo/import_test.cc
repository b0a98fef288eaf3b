// What becomes of regions, calls, collectives, shardings and arguments. Values are compared with JAX's in
// stablehlo_test.py.
#include "core/stablehlo/import.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/hlo/printer.h"
#include "core/hlo/user_sharding_rule.h"
#include "core/ops/verify.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shoal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

std::unique_ptr<Module> Import(absl::string_view text) {
  auto module = ImportStableHlo(text);
  EXPECT_TRUE(module.ok()) << module.status();
  if (!module.ok()) return nullptr;
  const absl::Status verified = Verify(**module);
  EXPECT_TRUE(verified.ok()) << verified << ToText(**module);
  return *std::move(module);
}

absl::Status Failure(absl::string_view text) { return ImportStableHlo(text).status(); }

const Instruction* Find(const Module& module, Opcode opcode) {
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() == opcode) return instruction;
    }
  }
  return nullptr;
}

// While's regions capture %w and a constant: the array becomes state, the constant is copied in.
TEST(ImportTest, LoopsCarryWhatTheyCapture) {
  auto module = Import(R"(
    func.func @main(%x: tensor<f32>, %w: tensor<f32>) -> tensor<f32> {
      %limit = stablehlo.constant dense<10.0> : tensor<f32>
      %0 = stablehlo.while(%s = %x) : tensor<f32>
       cond {
        %1 = stablehlo.compare LT, %s, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      } do {
        %1 = stablehlo.add %s, %w : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }
      return %0 : tensor<f32>
    })");
  ASSERT_NE(module, nullptr);
  const Instruction* loop = Find(*module, Opcode::kWhile);
  ASSERT_NE(loop, nullptr);
  EXPECT_EQ(loop->shape().ToString(), "(f32[], f32[])");
  EXPECT_EQ(loop->called(1)->root()->operand(1)->tuple_index(), 1);
  EXPECT_EQ(module->entry()->root()->opcode(), Opcode::kGetTupleElement);
  EXPECT_EQ(loop->called(0)->root()->operand(1)->opcode(), Opcode::kConstant);
}

TEST(ImportTest, BranchesGetATupleOfTheirCaptures) {
  auto module = Import(R"(
    func.func @main(%i: tensor<i32>, %x: tensor<3xf32>) -> (tensor<3xf32>, tensor<i32>) {
      %0:2 = "stablehlo.case"(%i) ({
        stablehlo.return %x, %i : tensor<3xf32>, tensor<i32>
      }, {
        %c = stablehlo.constant dense<7> : tensor<i32>
        stablehlo.return %x, %c : tensor<3xf32>, tensor<i32>
      }) : (tensor<i32>) -> (tensor<3xf32>, tensor<i32>)
      return %0#0, %0#1 : tensor<3xf32>, tensor<i32>
    })");
  ASSERT_NE(module, nullptr);
  const Instruction* conditional = Find(*module, Opcode::kConditional);
  ASSERT_NE(conditional, nullptr);
  ASSERT_EQ(conditional->operand_count(), 3);
  EXPECT_EQ(conditional->operand(1)->shape().ToString(), "(f32[3], s32[])");
  EXPECT_EQ(conditional->operand(2)->shape().ToString(), "(f32[3])");
}

TEST(ImportTest, AFunctionIsImportedOnceAndMayNotCallItself) {
  const std::string twice = R"(
    func.func @main(%x: tensor<f32>) -> tensor<f32> {
      %0 = call @f(%x) : (tensor<f32>) -> tensor<f32>
      %1 = call @f(%0) : (tensor<f32>) -> tensor<f32>
      return %1 : tensor<f32>
    }
    func.func private @f(%x: tensor<f32>) -> tensor<f32> {
      %0 = NEXT
      return %0 : tensor<f32>
    })";
  std::string text = twice;
  text.replace(text.find("NEXT"), 4, "stablehlo.negate %x : tensor<f32>");
  auto module = Import(text);
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->computations().size(), 2u);
  text = twice;
  text.replace(text.find("NEXT"), 4, "call @f(%x) : (tensor<f32>) -> tensor<f32>");
  EXPECT_THAT(std::string(Failure(text).message()), HasSubstr("@f calls itself"));
}

TEST(ImportTest, ArgumentsAndResultsKeepWhatIsSaidOfThem) {
  auto module = Import(R"(
    module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
      sdy.mesh @mesh = <["x"=2, "y"=2]>
      func.func @main(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}, {?}]>, tf.aliasing_output = 1 : i32},
                      %b: tensor<f32> {jax.buffer_donor = true, mhlo.memory_kind = "pinned_host"})
          -> (tensor<f32>, tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>, mhlo.memory_kind = "device"}) {
        return %b, %a : tensor<f32>, tensor<8x6xf32>
      }
    })");
  ASSERT_NE(module, nullptr);
  const ModuleConfig& config = module->config();
  EXPECT_EQ(config.num_partitions, 4);
  EXPECT_THAT(config.aliases, ElementsAre(Pair(1, 0)));
  EXPECT_THAT(config.donors, ElementsAre(1));
  EXPECT_THAT(config.parameter_memory_kinds, ElementsAre("", "pinned_host"));
  EXPECT_THAT(config.result_memory_kinds, ElementsAre("", "device"));
  EXPECT_EQ(ToString(*module->entry()->parameter(0)->sharding()), "{mesh<[x=2,y=2]>, [{y,x}, {?}]}");
  ASSERT_EQ(config.result_shardings.size(), 2u);
  EXPECT_EQ(config.result_shardings[0].mesh, nullptr);
  EXPECT_EQ(ToString(config.result_shardings[1]), "{mesh<[x=2,y=2]>, [{x}, {y}]}");
}

TEST(ImportTest, ShardingsOfInnerFunctionsStandOnTheirParameters) {
  auto module = Import(R"(
    module attributes {mhlo.num_partitions = 4 : i32} {
      func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
        %0 = call @f(%a) : (tensor<8xf32>) -> tensor<8xf32>
        return %0 : tensor<8xf32>
      }
      func.func private @f(%a: tensor<8xf32> {mhlo.sharding = "{devices=[4]<=[4]}"}) -> tensor<8xf32> {
        return %a : tensor<8xf32>
      }
    })");
  ASSERT_NE(module, nullptr);
  const Instruction* call = Find(*module, Opcode::kCall);
  ASSERT_NE(call, nullptr);
  ASSERT_NE(call->called(0)->parameter(0)->sharding(), nullptr);
  EXPECT_EQ(ToString(*call->called(0)->parameter(0)->sharding()), "{mesh<[s2=2,s1=2]>, [{s2,s1}]}");
}

TEST(ImportTest, AnAliasNeedsItsResult) {
  const absl::Status status = Failure(
      "func.func @main(%a: tensor<f32> {tf.aliasing_output = 1 : i32}) -> tensor<f32> {\nreturn %a : "
      "tensor<f32>\n}");
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("argument 0 of @main: it shares memory with result 1 of 1"));
}

TEST(ImportTest, ShardingRulesInText) {
  auto module = Import(R"(
    module attributes {mhlo.num_partitions = 4 : i32} {
      func.func @main(%a: tensor<8x6xf32>, %b: tensor<6xf32>) -> tensor<48xf32> {
        %0 = stablehlo.custom_call @f(%a, %b) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [k])->([ij]) {i=8, j=6, k=6} need_replication={j, k}, custom>}
             : (tensor<8x6xf32>, tensor<6xf32>) -> tensor<48xf32>
        return %0 : tensor<48xf32>
      }
    })");
  ASSERT_NE(module, nullptr);
  const Instruction* call = Find(*module, Opcode::kCustomCall);
  ASSERT_NE(call, nullptr);
  const std::optional<UserShardingRule> rule = RuleOf(call->attributes<CustomCallAttributes>());
  ASSERT_TRUE(rule.has_value());
  EXPECT_THAT(rule->factor_sizes, ElementsAre(8, 6, 6));
  EXPECT_THAT(rule->operands, ElementsAre(Groups{{0}, {1}}, Groups{{2}}));
  EXPECT_THAT(rule->results, ElementsAre(Groups{{0, 1}}));
  EXPECT_THAT(rule->need_replication, ElementsAre(1, 2));
}

// What JAX writes of a target that is registered as batch partitionable.
TEST(ImportTest, BatchDimensionsAreAShardingRule) {
  const auto rule_of = [](absl::string_view batch) -> std::optional<UserShardingRule> {
    auto module = Import(absl::StrCat(R"(
      module attributes {mhlo.num_partitions = 4 : i32} {
        func.func @main(%a: tensor<8x6x5xf32>) -> (tensor<8x6x5xf32>, tensor<8x5xf32>) {
          %0:2 = stablehlo.custom_call @f(%a) {mhlo.frontend_attributes = {num_batch_dims = ")",
                                      batch, R"("}}
               : (tensor<8x6x5xf32>) -> (tensor<8x6x5xf32>, tensor<8x5xf32>)
          return %0#0, %0#1 : tensor<8x6x5xf32>, tensor<8x5xf32>
        }
      })"));
    if (module == nullptr) return std::nullopt;
    return RuleOf(Find(*module, Opcode::kCustomCall)->attributes<CustomCallAttributes>());
  };
  const std::optional<UserShardingRule> rule = rule_of("1");
  ASSERT_TRUE(rule.has_value());
  EXPECT_THAT(rule->factor_sizes, ElementsAre(8, 6, 5, 6, 5, 5));
  EXPECT_THAT(rule->operands, ElementsAre(Groups{{0}, {1}, {2}}));
  EXPECT_THAT(rule->results, ElementsAre(Groups{{0}, {3}, {4}}, Groups{{0}, {5}}));
  EXPECT_THAT(rule->need_replication, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_FALSE(rule_of("2").has_value());  // of sizes 6 and 5
  EXPECT_FALSE(rule_of("3").has_value());
  EXPECT_FALSE(rule_of("0").has_value());
  EXPECT_FALSE(rule_of("many").has_value());
}

// What an inliner leaves of GSPMD's manual regions.
TEST(ImportTest, ManualRegionsWithoutAFunction) {
  auto module = Import(R"(
    module attributes {mhlo.num_partitions = 4 : i32} {
      func.func @main(%a: tensor<8x3xf32>) -> (tensor<8x3xf32>, tensor<2x3xf32>) {
        %one = stablehlo.constant dense<1.0> : tensor<2x3xf32>
        %0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{devices=[4,1]<=[4]}"} : (tensor<8x3xf32>) -> tensor<8x3xf32>
        %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"} : (tensor<8x3xf32>) -> tensor<2x3xf32>
        %2 = stablehlo.add %1, %one : tensor<2x3xf32>
        %3 = stablehlo.multiply %2, %1 : tensor<2x3xf32>
        %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {mhlo.sharding = "{devices=[4,1]<=[4]}"} : (tensor<2x3xf32>) -> tensor<8x3xf32>
        return %4, %one : tensor<8x3xf32>, tensor<2x3xf32>
      }
    })");
  ASSERT_NE(module, nullptr);
  const Instruction* region = Find(*module, Opcode::kManualComputation);
  ASSERT_NE(region, nullptr);
  EXPECT_EQ(region->shape().ToString(), "f32[8,3]");
  EXPECT_EQ(region->operand(0)->shape().ToString(), "f32[8,3]");
  EXPECT_EQ(region->called(0)->root()->opcode(), Opcode::kMultiply);
  EXPECT_EQ(Find(*module, Opcode::kCustomCall), nullptr);
}

TEST(ImportTest, ManualComputation) {
  auto module = Import(R"(
    module attributes {mhlo.num_partitions = 8 : i32} {
      sdy.mesh @mesh = <["x"=4, "y"=2]>
      func.func @main(%a: tensor<8x6xf32>) -> tensor<8x6xf32> {
        %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>]
             manual_axes={"x"} (%b: tensor<2x6xf32>) {
          %1 = "stablehlo.all_reduce"(%b) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
                replica_groups = dense<[[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64>, use_global_device_ids}> ({
          ^bb0(%p: tensor<f32>, %q: tensor<f32>):
            %2 = stablehlo.add %p, %q : tensor<f32>
            stablehlo.return %2 : tensor<f32>
          }) : (tensor<2x6xf32>) -> tensor<2x6xf32>
          sdy.return %1 : tensor<2x6xf32>
        } : (tensor<8x6xf32>) -> tensor<8x6xf32>
        return %0 : tensor<8x6xf32>
      }
    })");
  ASSERT_NE(module, nullptr);
  const Instruction* manual = Find(*module, Opcode::kManualComputation);
  ASSERT_NE(manual, nullptr);
  EXPECT_THAT(manual->attributes<ManualAttributes>().manual_axes, ElementsAre("x"));
  EXPECT_EQ(manual->called(0)->parameter(0)->shape().ToString(), "f32[2,6]");
  const Instruction* sum = Find(*module, Opcode::kAllReduce);
  ASSERT_NE(sum, nullptr);
  EXPECT_THAT(sum->attributes<CollectiveAttributes>().replica_groups,
              ElementsAre(ElementsAre(0, 2, 4, 6), ElementsAre(1, 3, 5, 7)));
}

Groups GroupsOf(absl::string_view groups, absl::string_view channel, int replicas, int partitions) {
  auto module = Import(absl::StrCat(
      "module attributes {mhlo.num_replicas = ", replicas, " : i32, mhlo.num_partitions = ", partitions,
      " : i32} {\nfunc.func @main(%a: tensor<f32>) -> tensor<f32> {\n%0 = "
      "\"stablehlo.all_reduce\"(%a) <{replica_groups = ",
      groups, channel,
      "}> ({\n^bb0(%p: tensor<f32>, %q: tensor<f32>):\n%1 = stablehlo.add %p, %q : tensor<f32>\n"
      "stablehlo.return %1 : tensor<f32>\n}) : (tensor<f32>) -> tensor<f32>\nreturn %0 : tensor<f32>\n}\n}"));
  return module == nullptr
             ? Groups()
             : Find(*module, Opcode::kAllReduce)->attributes<CollectiveAttributes>().replica_groups;
}

// The spec's three ways of numbering the members of an all_reduce, with two replicas of three partitions.
TEST(ImportTest, CollectivesNumberDevices) {
  const absl::string_view channel = ", channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>";
  EXPECT_THAT(GroupsOf("dense<[[0, 1]]> : tensor<1x2xi64>", "", 2, 3),
              ElementsAre(ElementsAre(0, 3), ElementsAre(1, 4), ElementsAre(2, 5)));
  EXPECT_THAT(GroupsOf("dense<[[0], [1]]> : tensor<2x1xi64>", channel, 2, 3),
              ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3, 4, 5)));
  EXPECT_THAT(GroupsOf("dense<[[0, 5, 3], [1, -1, -1], [2, 4, -1]]> : tensor<3x3xi64>",
                       absl::StrCat(channel, ", use_global_device_ids"), 2, 3),
              ElementsAre(ElementsAre(0, 5, 3), ElementsAre(1), ElementsAre(2, 4)));
  EXPECT_THAT(GroupsOf("dense<> : tensor<0x0xi64>", absl::StrCat(channel, ", use_global_device_ids"), 1, 3),
              ElementsAre(ElementsAre(0, 1, 2)));
}

// What the caller compiles for counts where the program does not say.
// The names inside, as MLIR prints them, are those of values outside; the future goes through a function.
TEST(ImportTest, AFutureIsItsValue) {
  auto module = Import(R"(
    module attributes {mhlo.num_replicas = 2 : i32} {
      func.func @main(%arg0: tensor<3xf32>) -> tensor<6xf32> {
        %0 = stablehlo.negate %arg0 : tensor<3xf32>
        %1 = "stablehlo.async_start"(%0) ({
        ^bb0(%arg1: tensor<3xf32>):
          %0 = "stablehlo.all_gather"(%arg1) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<3xf32>) -> tensor<6xf32>
          stablehlo.return %0 : tensor<6xf32>
        }) : (tensor<3xf32>) -> !stablehlo.future<tensor<6xf32>>
        stablehlo.custom_call @control_dep(%1, %0) {has_side_effect = true} : (!stablehlo.future<tensor<6xf32>>, tensor<3xf32>) -> ()
        %2 = call @wait(%1) : (!stablehlo.future<tensor<6xf32>>) -> tensor<6xf32>
        return %2 : tensor<6xf32>
      }
      func.func private @wait(%arg0: !stablehlo.future<tensor<6xf32>>) -> tensor<6xf32> {
        %0 = "stablehlo.async_done"(%arg0) : (!stablehlo.future<tensor<6xf32>>) -> tensor<6xf32>
        return %0 : tensor<6xf32>
      }
    })");
  ASSERT_NE(module, nullptr);
  const Instruction* gather = Find(*module, Opcode::kAllGather);
  ASSERT_NE(gather, nullptr);
  EXPECT_EQ(gather->parent(), module->entry());
  EXPECT_EQ(gather->operand(0)->opcode(), Opcode::kNegate);
  EXPECT_EQ(module->entry()->root()->operand(0), gather);
  EXPECT_EQ(Find(*module, Opcode::kCustomCall), nullptr);
}

TEST(ImportTest, TheCallerSaysHowManyReplicas) {
  const std::string program =
      "func.func @main(%a: tensor<f32>) -> tensor<f32> {\n%0 = \"stablehlo.collective_permute\"(%a) "
      "{source_target_pairs = dense<[[0, 2]]> : tensor<1x2xi64>} : (tensor<f32>) -> tensor<f32>\n"
      "return %0 : tensor<f32>\n}";
  EXPECT_THAT(std::string(ImportStableHlo(program).status().message()),
              HasSubstr("C4: member 2 where there are 1"));
  EXPECT_TRUE(ImportStableHlo(program, 1, nullptr, 3).ok());
}

TEST(ImportTest, ComplexNumbersConvertByTheirRealPart) {
  auto module = Import(
      "func.func @main(%a: tensor<2xcomplex<f64>>) -> tensor<2xi1> {\n"
      "%0 = stablehlo.convert %a : (tensor<2xcomplex<f64>>) -> tensor<2xi1>\nreturn %0 : tensor<2xi1>\n}");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->entry()->root()->operand(0)->opcode(), Opcode::kReal);
}

TEST(ImportTest, LayoutsOfCustomCallsBecomeTransposes) {
  auto module = Import(R"(
    func.func @main(%a: tensor<3x5xf32>) -> tensor<3x5xf32> {
      %0 = stablehlo.custom_call @solve(%a) {api_version = 4 : i32, backend_config = {n = 3 : i64, s = "u"},
            operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]}
            : (tensor<3x5xf32>) -> tensor<3x5xf32>
      return %0 : tensor<3x5xf32>
    })");
  ASSERT_NE(module, nullptr);
  const Instruction* call = Find(*module, Opcode::kCustomCall);
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call->shape().ToString(), "f32[5,3]");
  EXPECT_EQ(call->operand(0)->opcode(), Opcode::kTranspose);
  EXPECT_EQ(call->attributes<CustomCallAttributes>().backend_config, "{n = 3 : i64, s = \"u\"}");
  EXPECT_EQ(call->attributes<CustomCallAttributes>().api_version, 4);
  EXPECT_THAT(call->attributes<CustomCallAttributes>().operand_layouts, ElementsAre(ElementsAre(0, 1)));
}

TEST(ImportTest, ACallThatGivesATupleHasALayoutForEachElement) {
  auto module = Import(R"(
    func.func @main(%a: tensor<3x5xf32>) -> tuple<tensor<3x5xf32>, tensor<4x2xi8>> {
      %0 = stablehlo.custom_call @two(%a) {operand_layouts = [dense<[1, 0]> : tensor<2xindex>],
            result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>]}
            : (tensor<3x5xf32>) -> tuple<tensor<3x5xf32>, tensor<4x2xi8>>
      return %0 : tuple<tensor<3x5xf32>, tensor<4x2xi8>>
    })");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(Find(*module, Opcode::kCustomCall)->shape().ToString(), "(f32[5,3], s8[4,2])");
  EXPECT_EQ(module->entry()->root()->shape().ToString(), "(f32[3,5], s8[4,2])");
}

TEST(ImportTest, UnsignedBytesOfQuantisedTypesHaveTwoNames) {
  for (const char* storage : {"u8", "ui8"}) {
    auto module = Import(absl::StrCat(
        "func.func @main(%a: tensor<2xf32>) -> tensor<2x!quant.uniform<", storage,
        ":f32, 34.0:16>> {\n%0 = stablehlo.uniform_quantize %a : (tensor<2xf32>) -> "
        "tensor<2x!quant.uniform<",
        storage, ":f32, 34.0:16>>\nreturn %0 : tensor<2x!quant.uniform<", storage, ":f32, 34.0:16>>\n}"));
    ASSERT_NE(module, nullptr) << storage;
    EXPECT_EQ(module->entry()->root()->shape().ToString(), "u8[2]");
  }
}

// Where the compiler is to choose a result's layout, a constraint inside the program has chosen it.
TEST(ImportTest, LayoutConstraintsOfResultsAreHeededAndChecked) {
  const auto result_layout = [](absl::string_view layout) -> absl::StatusOr<IntVector> {
    EntryLayouts layouts;
    const auto module =
        ImportStableHlo(absl::StrCat(R"(
    func.func @main(%a: tensor<3x5xf32>) -> (tensor<3x5xf32> {mhlo.layout_mode = "auto"}) {
      %0 = stablehlo.custom_call @LayoutConstraint(%a) {operand_layouts = [dense<[1, 0]> : tensor<2xindex>],
            result_layouts = [dense<)",
                                     layout, R"(> : tensor<2xindex>]} : (tensor<3x5xf32>) -> tensor<3x5xf32>
      return %0 : tensor<3x5xf32>
    })"),
                        1, &layouts);
    if (!module.ok()) return module.status();
    EXPECT_FALSE(layouts.results.at(0).automatic);
    return layouts.results.at(0).minor_to_major;
  };
  EXPECT_THAT(*result_layout("[0, 1]"), ElementsAre(0, 1));
  EXPECT_THAT(*result_layout("[1, 0]"), ElementsAre());  // row-major
  for (const char* wrong : {"[0, 0]", "[1, 2]", "[0, -1]"}) {
    EXPECT_EQ(result_layout(wrong).status().code(), absl::StatusCode::kInvalidArgument) << wrong;
  }
}

TEST(ImportTest, ASplatIsAScalarAndItsBroadcast) {
  auto module = Import(R"(
    func.func @main() -> tensor<1000000x1000000xf32> {
      %0 = stablehlo.constant dense<3.0> : tensor<1000000x1000000xf32>
      return %0 : tensor<1000000x1000000xf32>
    })");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->entry()->root()->opcode(), Opcode::kBroadcast);
}

TEST(ImportTest, CompositesWithANativeOperationUseIt) {
  const std::string text = R"(
    func.func @main(%x: TYPE) -> TYPE {
      %0 = stablehlo.composite "chlo.erf" %x {decomposition = @f} : (TYPE) -> TYPE
      return %0 : TYPE
    }
    func.func private @f(%x: TYPE) -> TYPE {
      %0 = stablehlo.negate %x : TYPE
      return %0 : TYPE
    })";
  const auto with = [&](absl::string_view type) {
    std::string out = text;
    for (size_t at; (at = out.find("TYPE")) != std::string::npos;) out.replace(at, 4, std::string(type));
    return out;
  };
  EXPECT_NE(Find(*Import(with("tensor<3xf32>")), Opcode::kErf), nullptr);
  EXPECT_NE(Find(*Import(with("tensor<3xcomplex<f32>>")), Opcode::kCall), nullptr);
}

// Numbers of the storage type outside, of the expressed type inside.
TEST(ImportTest, QuantisedNumbersAreComputedInTheirExpressedType) {
  auto module = Import(R"(
!q = !quant.uniform<i8:f32, 0.5:3>
    func.func @main(%x: tensor<4x!q>, %y: tensor<2x2x!quant.uniform<u8:f16:1, {0.5:3,1.0}>>) ->
        (tensor<2x2x!q>, tensor<2x2xf16>) {
      %0 = stablehlo.tanh %x : tensor<4x!q>
      %1 = stablehlo.reshape %0 : (tensor<4x!q>) -> tensor<2x2x!q>
      %2 = stablehlo.uniform_dequantize %y : (tensor<2x2x!quant.uniform<u8:f16:1, {0.5:3,1.0}>>) -> tensor<2x2xf16>
      return %1, %2 : tensor<2x2x!q>, tensor<2x2xf16>
    })");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->entry()->parameter(0)->shape().ToString(), "s8[4]");
  EXPECT_EQ(module->entry()->parameter(1)->shape().ToString(), "u8[2,2]");
  EXPECT_EQ(module->entry()->root()->shape().ToString(), "(s8[2,2], f16[2,2])");
  EXPECT_EQ(Find(*module, Opcode::kTanh)->shape().ToString(), "f32[4]");
}

// jaxlib cannot read these forms.
TEST(ImportTest, RootsOfCollectives) {
  constexpr absl::string_view kText = R"(
    module @m attributes {mhlo.num_replicas = 3 : i32} {
      func.func @main(%x: tensor<3xf32>, %y: tensor<3xi32>, %roots: tensor<2xi32>) -> (tensor<3xf32>, tensor<3xi32>, tensor<3xf32>) {
        %b:2 = "stablehlo.collective_broadcast"(%x, %y, %roots) {has_dynamic_root = true,
          replica_groups = dense<[[0, 2]]> : tensor<1x2xi64>} :
          (tensor<3xf32>, tensor<3xi32>, tensor<2xi32>) -> (tensor<3xf32>, tensor<3xi32>)
        %r = "stablehlo.collective_reduce"(%x) ({
          ^bb0(%p: tensor<f32>, %q: tensor<f32>):
            %s = stablehlo.add %p, %q : tensor<f32>
            stablehlo.return %s : tensor<f32>
        }) {replica_groups = dense<[[2, 0]]> : tensor<1x2xi64>} : (tensor<3xf32>) -> tensor<3xf32>
        return %b#0, %b#1, %r : tensor<3xf32>, tensor<3xi32>, tensor<3xf32>
      }
    })";
  auto module = Import(kText);
  ASSERT_NE(module, nullptr);
  // Each of a group sends in its turn; who is in none takes part in a reduction alone.
  EXPECT_EQ(Find(*module, Opcode::kCollectiveBroadcast)->attributes<CollectiveAttributes>().replica_groups,
            (Groups{{0, 2}}));
  EXPECT_EQ(Find(*module, Opcode::kAllReduce)->attributes<CollectiveAttributes>().replica_groups,
            (Groups{{2, 0}, {1}}));
}

TEST(ImportTest, WhatIsNotSupportedIsNamed) {
  const auto body = [](absl::string_view op) {
    return absl::StrCat("func.func @main(%a: tensor<3xf32>, %n: tensor<1xi64>) -> tensor<3xf32> {\n", op,
                        "\nreturn %0 : tensor<3xf32>\n}");
  };
  absl::Status status =
      Failure(body("%0 = stablehlo.real_dynamic_slice %a, %n, %n, %n : (tensor<3xf32>, tensor<1xi64>, "
                   "tensor<1xi64>, tensor<1xi64>) -> tensor<3xf32>"));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), HasSubstr("stablehlo.real_dynamic_slice"));
  status = Failure("func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {\nreturn %a : tensor<?xf32>\n}");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), HasSubstr("tensor<?xf32>"));
  status = Failure(body("%0 = \"stablehlo.add\"(%a) : (tensor<3xf32>) -> tensor<3xf32>"));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("1 operands instead of 2"));
  EXPECT_THAT(std::string(Failure("module {}").message()), HasSubstr("no function @main"));
}

}  // namespace
}  // namespace shoal

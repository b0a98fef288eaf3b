// HLO text: what is printed reads back the same; what XLA writes reads; bad text tells where.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "core/hlo/literal_text.h"
#include "core/hlo/module_proto.h"
#include "core/hlo/parser.h"
#include "core/hlo/printer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shoal {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Module> ParseOrDie(absl::string_view text) {
  auto module = ParseHloText(text);
  EXPECT_TRUE(module.ok()) << module.status() << "\n" << text;
  return module.ok() ? *std::move(module) : nullptr;
}

void ExpectRoundTrip(absl::string_view text) {
  const auto module = ParseOrDie(text);
  if (module == nullptr) return;
  for (const bool xla_like : {false, true}) {
    PrintOptions options;
    options.layouts = options.operand_shapes = xla_like;
    const std::string printed = ToText(*module, options);
    const auto again = ParseOrDie(printed);
    if (again == nullptr) return;
    EXPECT_EQ(printed, ToText(*again, options));
    EXPECT_EQ(ToText(*module), ToText(*again));
  }
}

std::string ErrorOf(absl::string_view text) {
  const auto module = ParseHloText(text);
  return module.ok() ? "no error" : std::string(module.status().message());
}

TEST(HloText, PrintsAsDocumented) {
  const std::string text =
      "HloModule m, entry_computation_layout={(f32[4])->f32[4]}\n"
      "\n"
      "ENTRY %main (a: f32[4]) -> f32[4] {\n"
      "  %a = f32[4] parameter(0)\n"
      "  ROOT %add.1 = f32[4] add(%a, %a)\n"
      "}\n";
  EXPECT_EQ(ToText(*ParseOrDie(text)), text);
}

TEST(HloText, CorpusRoundTrips) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SHOAL_OPS_DIR)) {
    if (entry.path().extension() != ".hlo") continue;
    SCOPED_TRACE(entry.path().string());
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    ExpectRoundTrip(text.str());
    ++files;
  }
  EXPECT_GT(files, 50);
}

TEST(HloText, ReadsWhatXlaWrites) {
  // As jaxlib 0.10.2 prints jax.jit(lambda x: (x @ x.T).sum(0)), shapes of operands and layouts included.
  ExpectRoundTrip(
      R"(HloModule jit__lambda_, entry_computation_layout={(f32[3,5]{1,0})->f32[3]{0}}, replica_count=1, num_partitions=2, allow_spmd_sharding_propagation_to_output={true}

%region_0.7 (Arg_0.8: f32[], Arg_1.9: f32[]) -> f32[] {
  %Arg_0.8 = f32[] parameter(0), metadata={op_name="jit(<lambda>)/jit(main)/reduce_sum"}
  %Arg_1.9 = f32[] parameter(1)
  ROOT %add.10 = f32[] add(f32[] %Arg_0.8, f32[] %Arg_1.9), metadata={op_name="a \"b\"" source_file="<stdin>" source_line=1}
}

ENTRY %main.12 (Arg_0.1: f32[3,5]) -> f32[3] {
  %Arg_0.1 = f32[3,5]{1,0} parameter(0)
  %constant.3 = f32[] constant(0)
  %transpose.4 = f32[5,3]{1,0} transpose(f32[3,5]{1,0} %Arg_0.1), dimensions={1,0}
  %dot.5 = f32[3,3]{1,0} dot(f32[3,5]{1,0} %Arg_0.1, f32[5,3]{1,0} %transpose.4), lhs_contracting_dims={1}, rhs_contracting_dims={0}, operand_precision={default,highest}, frontend_attributes={grad_x="false",grad_y="false"}
  ROOT %reduce.11 = f32[3]{0} reduce(f32[3,3]{1,0} %dot.5, /*index=1*/f32[] %constant.3), dimensions={0}, to_apply=%region_0.7
}
)");
}

TEST(HloText, XlaTablesOfSourceLinesAreSkipped) {
  EXPECT_EQ(
      ErrorOf("HloModule m\n\nFileNames\n1 \"a.py\"\n\nFunctionNames\n1 \"f\"\n2 \"g\"\n\nFileLocations\n1 "
              "{file_name_id=1 line=2}\n\nStackFrames\n1 {file_location_id=1 parent_frame_id=1}\n\n\n"
              "ENTRY e {\n  a = f32[] constant(1)\n}"),
      "no error");
}

TEST(HloText, SignsShapesAndOrderMayBeLeftOut) {
  const auto module = ParseOrDie(
      "HloModule m // a comment\n ENTRY main { x = f32[2] parameter(0) ROOT r = f32[2] call(x), to_apply=f "
      "}\n"
      "f { y = f32[2] parameter(0)\n z = f32[2] negate(y) }");
  EXPECT_EQ(module->entry()->root()->called(0)->root()->opcode(), Opcode::kNegate);
  ExpectRoundTrip(ToText(*module));
}

TEST(HloText, ConfigAndShardings) {
  ExpectRoundTrip(
      R"(HloModule m, input_output_alias={ {1}: (0, {}, may-alias) }, buffer_donor={ (1, {}) }, replica_count=2, num_partitions=8, parameter_memory_kinds={"device", "pinned_host"}, result_memory_kinds={"", "device"}, result_shardings={{no mesh, []}, {mesh<[x=4,y=2]>, [{x}]}}
ENTRY main {
  a = f32[8,6] parameter(0), sharding={mesh<[x=4,y=2]>, [{x:(2)2,y}, {?}p1], replicated={x:(1)2}}
  b = f32[4] parameter(1), sharding={mesh<[], devices=[3]>, []}
  s = f32[8,6] reshard(a), sharding={mesh<[x=4,y=2], devices=[1,0,3,2,5,4,7,6]>, [{y,?}, {}], unreduced={x}}
  ROOT t = (f32[8,6], f32[4]) tuple(s, b), sharding={{mesh<[x=4,y=2]>, [{}, {}]}, {mesh<[x=4,y=2]>, [{x}]}}
})");
}

TEST(HloText, IotaGroupsAreWrittenOut) {
  const auto module = ParseOrDie(
      "HloModule m\nENTRY e { a = f32[2] parameter(0) ROOT g = f32[4] all-gather(a), channel_id=1, "
      "replica_groups=[4,2]<=[2,4]T(1,0), dimensions={0}, use_global_device_ids=true }");
  EXPECT_EQ(module->entry()->root()->attributes<CollectiveAttributes>().replica_groups,
            (Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
}

TEST(HloText, ErrorsTellTheirPlace) {
  EXPECT_THAT(ErrorOf("HloModule m\nENTRY e {\n  a = f32[2] parameter(0)\n  b = f32[2] add(a, c)\n}"),
              HasSubstr("4:21: no instruction \"c\""));
  EXPECT_THAT(ErrorOf("HloModule m\nENTRY e {\n  a = f32[2] frobnicate()\n}"), HasSubstr("3:14: "));
  EXPECT_THAT(ErrorOf("HloModule m\nENTRY e {\n  a = f32[2] parameter(0), wings=2\n}"),
              HasSubstr("unknown attribute \"wings\""));
  EXPECT_THAT(
      ErrorOf("HloModule m\nENTRY e {\n  a = f32[2,3] parameter(0)\n  b = f32[3,2]{0,1} bitcast(a)\n}"),
      HasSubstr("4:3: only the row-major"));
  EXPECT_THAT(ErrorOf("HloModule m\nENTRY e {\n  a = s8[2] constant({1, 128})\n}"), HasSubstr("3:26: "));
  EXPECT_THAT(ErrorOf("HloModule m\nENTRY e {\n  a = f32[2] iota()\n}"),
              HasSubstr("\"iota_dimension\" is missing"));
  EXPECT_THAT(ErrorOf("HloModule m\nENTRY e {\n  a = f32[] call(), to_apply=e\n}"),
              HasSubstr("calls the entry"));
  EXPECT_THAT(
      ErrorOf(
          "HloModule m\nf { a = f32[] call(), to_apply=g }\ng { a = f32[] call(), to_apply=f }\nENTRY e { "
          "ROOT b = f32[] call(), to_apply=f }"),
      HasSubstr("circle"));
  EXPECT_THAT(ErrorOf("HloModule m\nENTRY e { a = f32[] parameter(1) }"), HasSubstr("no parameter 0"));
  EXPECT_THAT(ErrorOf("HloModule m\nENTRY e { a = f32[] parameter(999999999999) }"),
              HasSubstr("parameter number"));
  EXPECT_THAT(ErrorOf("HloModule m\nENTRY e { a = f32[99999999999] constant({1}) }"),
              HasSubstr("too few elements"));
  EXPECT_THAT(ErrorOf("HloModule m\nENTRY e { a = f32[4] constant({1}) }"), HasSubstr("expected ','"));
  EXPECT_THAT(ErrorOf("HloModule m\nENTRY e { a = ((f32[4]/), f32[]) tuple() }"), HasSubstr("bad shape"));
  EXPECT_THAT(ErrorOf(std::string("HloModule m, x=") + std::string(100000, '{')),
              HasSubstr("nest too deeply"));
}

TEST(HloText, EveryTruncationIsAnErrorOrAModule) {
  const std::string text =
      "HloModule m\nr { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] add(p, q) }\nENTRY e "
      "{\n  a = f32[2,2] "
      "parameter(0), sharding={mesh<[x=2]>, [{x}, {}]}\n  z = f32[] constant(nan(0x7fc00001))\n  ROOT b = "
      "f32[2] reduce(a, "
      "z), dimensions={1}, to_apply=r, metadata={op_name=\"n\"}\n}";
  for (size_t n = 0; n < text.size(); ++n) {
    const auto module = ParseHloText(absl::string_view(text).substr(0, n));
    EXPECT_FALSE(module.ok()) << n;
  }
  ExpectRoundTrip(text);
}

// What reads back prints and reads back again: a flipped bit must not make a module that contradicts itself,
// as a constant whose shape is not its literal's.
TEST(HloProto, EveryFlippedBitIsAnErrorOrAModule) {
  const auto module = ParseOrDie(
      "HloModule m\nENTRY e {\n  a = s4[2,3] constant({{1, -8, 7}, {0, 2, 3}})\n  ROOT t = (s4[2,3]) "
      "tuple(a)\n}");
  std::string bytes = ToHloModuleProto(*module).value();
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= 1 << bit % 8;
    const auto flipped = FromHloModuleProto(bytes);
    if (flipped.ok()) {
      EXPECT_EQ(ParseHloText(ToText(**flipped)).status(), absl::OkStatus()) << bit;
    }
    bytes[bit / 8] ^= 1 << bit % 8;
  }
}

// Every bit pattern of every narrow float type, and the odd ones of the wide types, print and read back to
// the same bits.
TEST(LiteralText, EveryBitPatternComesBack) {
  for (ElementType type : AllElementTypes()) {
    if (!IsFloat(type) || ByteWidth(type) > 2) continue;
    SCOPED_TRACE(ElementTypeName(type));
    const int64_t count = int64_t{1} << BitWidth(type);
    Literal literal(Shape::Array(type, {count}));
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(literal.mutable_data() + i * ByteWidth(type), &i, ByteWidth(type));
    const std::string text = LiteralToText(literal, count);
    TextCursor cursor(text);
    const auto back = LiteralFromText(literal.shape(), cursor);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(*back, literal);
  }
}

template <typename T>
std::string TextOf(ElementType type, T value) {
  return LiteralToText(Literal::Scalar(type, value), 1);
}

TEST(LiteralText, WideNumbers) {
  EXPECT_EQ(TextOf(ElementType::kF32, 0.1f), "0.1");
  EXPECT_EQ(TextOf(ElementType::kF64, -0.0), "-0");
  EXPECT_EQ(TextOf(ElementType::kF32, -std::numeric_limits<float>::infinity()), "-inf");
  EXPECT_EQ(TextOf(ElementType::kF32, uint32_t{0x7fc00000}), "nan");
  EXPECT_EQ(TextOf(ElementType::kF32, uint32_t{0xff800001}), "nan(0xff800001)");
  EXPECT_EQ(TextOf(ElementType::kS64, std::numeric_limits<int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(TextOf(ElementType::kU64, ~uint64_t{0}), "18446744073709551615");
  EXPECT_EQ(TextOf(ElementType::kC64, std::pair<float, float>(1.5f, -2.0f)), "(1.5, -2)");
  EXPECT_EQ(TextOf(ElementType::kPred, uint8_t{1}), "true");
  for (const char* text : {"-9223372036854775808", "9223372036854775807"}) {
    TextCursor cursor(text);
    EXPECT_EQ(LiteralToText(*LiteralFromText(Shape::Scalar(ElementType::kS64), cursor), 1), text);
  }
}

TEST(LiteralText, LongArraysAreBytes) {
  Literal literal(Shape::Array(ElementType::kS16, {3}));
  const int16_t values[] = {1, -1, 0x1234};
  std::memcpy(literal.mutable_data(), values, sizeof(values));
  const std::string text = LiteralToText(literal, 2);
  EXPECT_EQ(text, "\"0x0100ffff3412\"");
  TextCursor cursor(text);
  EXPECT_EQ(*LiteralFromText(literal.shape(), cursor), literal);
}

TEST(LiteralText, EmptyAndNested) {
  for (const char* text : {"{}", "{ {}, {} }"}) {
    const Shape shape =
        text[1] == '}' ? Shape::Array(ElementType::kF32, {0}) : Shape::Array(ElementType::kF32, {2, 0});
    TextCursor cursor(text);
    const auto literal = LiteralFromText(shape, cursor);
    ASSERT_TRUE(literal.ok()) << literal.status();
    EXPECT_EQ(LiteralToText(*literal, 9), text);
  }
  TextCursor cursor("{ { {1, 2} }, { {3, 4} } }");
  const auto literal = LiteralFromText(Shape::Array(ElementType::kU8, {2, 1, 2}), cursor);
  ASSERT_TRUE(literal.ok());
  EXPECT_EQ(literal->AsInt(2), 3);
}

}  // namespace
}  // namespace shoal

// Attributes of the dialects stablehlo and sdy: #stablehlo.gather<...>, #stablehlo<precision DEFAULT>,
// #sdy.sharding<...>.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/stablehlo/text_parser.h"

namespace shoal {
namespace {

constexpr absl::string_view kEnums[] = {
    "stablehlo.precision", "stablehlo.comparison_direction", "stablehlo.comparison_type",
    "stablehlo.fft_type",  "stablehlo.rng_algorithm",        "stablehlo.rng_distribution",
    "stablehlo.transpose", "stablehlo.result_accuracy_mode", "stablehlo.custom_call_api_version"};
// Those that are written as "name = value" pairs.
constexpr absl::string_view kStructs[] = {
    "stablehlo.axis_ref",      "stablehlo.channel_handle",
    "stablehlo.dot",           "stablehlo.gather",
    "stablehlo.mesh_axis",     "stablehlo.output_operand_alias",
    "stablehlo.scatter",       "stablehlo.replica_group_mesh_axes",
    "stablehlo.dot_algorithm", "stablehlo.result_accuracy",
};

std::vector<int64_t> Integers(const MlirAttribute& list) {
  std::vector<int64_t> values;
  for (const MlirAttribute* element : list.elements) values.push_back(element->integer);
  return values;
}

bool IsIntegerList(const MlirAttribute& attribute) {
  if (attribute.kind != MlirAttributeKind::kArray) return false;
  return std::all_of(attribute.elements.begin(), attribute.elements.end(), [](const MlirAttribute* element) {
    return element->kind == MlirAttributeKind::kInteger;
  });
}

template <size_t n>
bool Contains(const absl::string_view (&names)[n], absl::string_view name) {
  return std::find(names, names + n, name) != names + n;
}

}  // namespace

MlirAttribute* TextParser::Struct(absl::string_view name) {
  MlirAttribute* record = New(MlirAttributeKind::kRecord);
  record->text = name;
  while (ok() && scan_.Peek() != '>') {
    if (!record->entries.empty()) scan_.Expect(",");
    if (scan_.Peek() == '>') break;
    const absl::string_view key = scan_.Word();
    if (key.empty()) scan_.Fail("a parameter is expected");
    scan_.Expect("=");
    const MlirAttribute* value = Attribute();
    if (value == nullptr) break;
    record->entries.push_back({key, IsIntegerList(*value) ? IntegersAttribute(Integers(*value)) : value});
  }
  return record;
}

// "#name": an alias, or "#dialect.kind<body>", or "#dialect<kind body>".
MlirAttribute* TextParser::DialectAttribute() {
  scan_.Expect("#");
  const absl::string_view name = scan_.Suffix();
  const bool has_dot = name.find('.') != absl::string_view::npos;
  if (!has_dot && scan_.PeekHere() != '<') return AliasedAttribute(name);
  if (has_dot) return DialectBody(name, scan_.PeekHere() == '<');
  scan_.Expect("<");
  const absl::string_view kind = scan_.Word();
  MlirAttribute* attribute = DialectBody(module_->Keep(absl::StrCat(name, ".", kind)), /*bracketed=*/false);
  if (scan_.Peek() != '>') {
    scan_.SkipToClose('>');
  } else {
    scan_.Expect(">");
  }
  return attribute;
}

// The body in angle brackets if `bracketed`; otherwise as it stands inside "#dialect<kind ...>".
MlirAttribute* TextParser::DialectBody(absl::string_view name, bool bracketed) {
  if (name == "sdy.sharding") return ShardingBody();
  if (name == "sdy.mesh") return MeshBody();
  if (name == "sdy.manual_axes" && !bracketed) return ManualAxesBody();
  if (bracketed) scan_.Expect("<");
  MlirAttribute* attribute = nullptr;
  if (Contains(kEnums, name)) {
    attribute = EnumAttribute(scan_.Word());
  } else if (name == "sdy.sharding_per_value") {
    attribute = ShardingList();
  } else if (name == "sdy.manual_axes") {
    attribute = ManualAxesBody();
  } else if (name == "sdy.op_sharding_rule") {
    attribute = ShardingRuleBody();
  } else if (name == "stablehlo.conv" && scan_.TakeWord("raw")) {
    attribute = Struct(name);
  } else if (name == "stablehlo.conv") {
    MlirAttribute* record = New(MlirAttributeKind::kRecord);
    record->text = name;
    record->entries = ConvolutionDimensions();
    attribute = record;
  } else if (Contains(kStructs, name) && bracketed) {
    attribute = Struct(name);
  } else {
    // Nothing that the importer looks into.
    MlirAttribute* record = New(MlirAttributeKind::kRecord);
    record->text = name;
    if (bracketed) scan_.SkipToClose('>');
    return record;
  }
  if (bracketed) scan_.Expect(">");
  return attribute;
}

std::vector<MlirNamedAttribute> TextParser::ConvolutionDimensions() {
  std::vector<MlirNamedAttribute> entries;
  struct Part {
    absl::string_view batch_letter, feature_letter, batch, feature, spatial;
  };
  constexpr Part kParts[] = {
      {"b", "f", "input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions"},
      {"o", "i", "kernel_output_feature_dimension", "kernel_input_feature_dimension",
       "kernel_spatial_dimensions"},
      {"b", "f", "output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions"}};
  for (const Part& part : kParts) {
    if (&part == &kParts[1]) scan_.Expect("x");
    if (&part == &kParts[2]) scan_.Expect("->");
    scan_.Expect("[");
    std::vector<int64_t> spatial;
    int64_t position = 0;
    for (; ok() && !scan_.Take("]"); ++position) {
      if (position > 0) scan_.Expect(",");
      if (scan_.TakeWord(part.batch_letter)) {
        entries.push_back({part.batch, IntegerAttribute(position)});
      } else if (scan_.TakeWord(part.feature_letter)) {
        entries.push_back({part.feature, IntegerAttribute(position)});
      } else {
        const int64_t number = scan_.Integer();
        constexpr int64_t kMostDimensions = 1000;
        if (number < 0 || number > kMostDimensions) {
          scan_.Fail("a spatial dimension out of range");
          break;
        }
        if (static_cast<size_t>(number) >= spatial.size())
          spatial.resize(static_cast<size_t>(number) + 1, -1);
        spatial[static_cast<size_t>(number)] = position;
      }
    }
    entries.push_back({part.spatial, IntegersAttribute(std::move(spatial))});
  }
  return entries;
}

// "x" or "x":(2)4
MlirAttribute* TextParser::AxisRef() {
  MlirAttribute* axis = New(MlirAttributeKind::kRecord);
  axis->text = "sdy.axis_ref";
  axis->entries.push_back({"name", StringAttribute(QuotedText())});
  if (scan_.Take(":")) {
    MlirAttribute* sub = New(MlirAttributeKind::kRecord);
    sub->text = "sdy.sub_axis_info";
    scan_.Expect("(");
    sub->entries.push_back({"pre_size", IntegerAttribute(scan_.Integer())});
    scan_.Expect(")");
    sub->entries.push_back({"size", IntegerAttribute(scan_.Integer())});
    axis->entries.push_back({"sub_axis_info", sub});
  }
  return axis;
}

MlirAttribute* TextParser::AxisList() {
  MlirAttribute* list = New(MlirAttributeKind::kArray);
  scan_.Expect("{");
  while (ok() && !scan_.Take("}")) {
    if (!list->elements.empty()) scan_.Expect(",");
    list->elements.push_back(AxisRef());
  }
  return list;
}

// {"x", "y", ?}p1
MlirAttribute* TextParser::DimensionSharding() {
  MlirAttribute* dim = New(MlirAttributeKind::kRecord);
  dim->text = "sdy.dimension_sharding";
  MlirAttribute* axes = New(MlirAttributeKind::kArray);
  MlirAttribute* closed = New(MlirAttributeKind::kBool);
  closed->integer = 1;
  scan_.Expect("{");
  for (bool first = true; ok() && !scan_.Take("}"); first = false) {
    if (!first) scan_.Expect(",");
    if (scan_.Take("?")) {
      closed->integer = 0;
    } else {
      axes->elements.push_back(AxisRef());
    }
  }
  dim->entries = {{"axes", axes}, {"is_closed", closed}};
  if (scan_.PeekHere() == 'p') {
    scan_.Take("p");
    dim->entries.push_back({"priority", IntegerAttribute(scan_.Integer())});
  }
  return dim;
}

MlirAttribute* TextParser::ShardingBody() {
  MlirAttribute* sharding = New(MlirAttributeKind::kRecord);
  sharding->text = "sdy.sharding";
  scan_.Expect("<");
  if (scan_.TakeWord("mesh")) {
    sharding->entries.push_back({"mesh", MeshBody()});
  } else {
    MlirAttribute* mesh = New(MlirAttributeKind::kSymbol);
    mesh->text = SymbolName();
    sharding->entries.push_back({"mesh", mesh});
  }
  scan_.Expect(",");
  MlirAttribute* dims = New(MlirAttributeKind::kArray);
  scan_.Expect("[");
  while (ok() && !scan_.Take("]")) {
    if (!dims->elements.empty()) scan_.Expect(",");
    dims->elements.push_back(DimensionSharding());
  }
  sharding->entries.push_back({"dim_shardings", dims});
  while (ok() && scan_.Take(",")) {
    const absl::string_view kind = scan_.Word();
    if (kind != "replicated" && kind != "unreduced") scan_.Fail("'replicated' or 'unreduced' is expected");
    scan_.Expect("=");
    if (kind == "unreduced" && scan_.PeekHere() != '{') {  // by what, if not by a sum
      scan_.Word();
      sharding->entries.push_back({"reduction_op", IntegerAttribute(1)});
    }
    sharding->entries.push_back({kind == "replicated" ? "replicated_axes" : "unreduced_axes", AxisList()});
  }
  scan_.Expect(">");
  return ok() ? sharding : nullptr;
}

MlirAttribute* TextParser::ShardingList() {
  MlirAttribute* record = New(MlirAttributeKind::kRecord);
  record->text = "sdy.sharding_per_value";
  MlirAttribute* list = New(MlirAttributeKind::kArray);
  scan_.Expect("[");
  while (ok() && !scan_.Take("]")) {
    if (!list->elements.empty()) scan_.Expect(",");
    if (const MlirAttribute* sharding = ShardingBody()) list->elements.push_back(sharding);
  }
  record->entries.push_back({"shardings", list});
  return record;
}

MlirAttribute* TextParser::MeshBody() {
  MlirAttribute* mesh = New(MlirAttributeKind::kRecord);
  mesh->text = "sdy.mesh";
  MlirAttribute* axes = New(MlirAttributeKind::kArray);
  scan_.Expect("<");
  scan_.Expect("[");
  while (ok() && !scan_.Take("]")) {
    if (!axes->elements.empty()) scan_.Expect(",");
    MlirAttribute* axis = New(MlirAttributeKind::kRecord);
    axis->text = "sdy.mesh_axis";
    axis->entries.push_back({"name", StringAttribute(QuotedText())});
    scan_.Expect("=");
    axis->entries.push_back({"size", IntegerAttribute(scan_.Integer())});
    axes->elements.push_back(axis);
  }
  mesh->entries.push_back({"axes", axes});
  if (scan_.Take(",")) {
    if (!scan_.TakeWord("device_ids")) scan_.Fail("'device_ids' is expected");
    scan_.Expect("=");
    mesh->entries.push_back({"device_ids", IntegersAttribute(IntegerList())});
  }
  scan_.Expect(">");
  return mesh;
}

MlirAttribute* TextParser::ManualAxesBody() {
  MlirAttribute* record = New(MlirAttributeKind::kRecord);
  record->text = "sdy.manual_axes";
  MlirAttribute* list = New(MlirAttributeKind::kArray);
  scan_.Expect("{");
  while (ok() && !scan_.Take("}")) {
    if (!list->elements.empty()) scan_.Expect(",");
    list->elements.push_back(StringAttribute(QuotedText()));
  }
  record->entries.push_back({"value", list});
  return record;
}

}  // namespace shoal

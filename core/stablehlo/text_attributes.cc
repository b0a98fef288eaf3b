#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/stablehlo/bytecode_tables.h"
#include "core/stablehlo/text_parser.h"
#include "core/types/literal.h"

namespace shoal {
namespace {

bool IsFloatText(absl::string_view text) {
  return !absl::StartsWith(text, "0x") && text.find_first_of(".eE") != absl::string_view::npos;
}

bool IsScalarOf(const MlirType* type, bool (*predicate)(ElementType)) {
  return type != nullptr && type->kind == MlirTypeKind::kScalar && predicate(type->element);
}

}  // namespace

MlirAttribute* TextParser::IntegerAttribute(int64_t value) {
  MlirAttribute* attribute = New(MlirAttributeKind::kInteger);
  attribute->type = module_->Scalar(ElementType::kS64);
  attribute->integer = value;
  return attribute;
}

MlirAttribute* TextParser::IntegersAttribute(std::vector<int64_t> values) {
  MlirAttribute* attribute = New(MlirAttributeKind::kDenseArray);
  attribute->type = module_->Scalar(ElementType::kS64);
  attribute->ints = std::move(values);
  return attribute;
}

MlirAttribute* TextParser::EnumAttribute(absl::string_view word) {
  MlirAttribute* attribute = New(MlirAttributeKind::kEnum);
  attribute->text = word;
  return attribute;
}

MlirAttribute* TextParser::StringAttribute(absl::string_view text) {
  MlirAttribute* attribute = New(MlirAttributeKind::kString);
  attribute->text = text;
  return attribute;
}

absl::string_view TextParser::SymbolName() {
  scan_.Expect("@");
  return scan_.PeekHere() == '"' ? QuotedText() : scan_.Suffix();
}

std::vector<int64_t> TextParser::IntegerList() {
  std::vector<int64_t> values;
  scan_.Expect("[");
  int depth = 1;
  while (ok() && depth > 0) {
    if (scan_.Take("[")) {
      ++depth;
    } else if (scan_.Take("]")) {
      --depth;
    } else if (scan_.TakeWord("true") || scan_.TakeWord("false")) {
      values.push_back(scan_.text()[scan_.position() - 2] == 'u');
    } else if (!scan_.Take(",")) {
      values.push_back(scan_.Integer());
    }
  }
  return values;
}

std::vector<MlirNamedAttribute> TextParser::Dictionary() {
  std::vector<MlirNamedAttribute> entries;
  scan_.Expect("{");
  while (ok() && !scan_.Take("}")) {
    if (!entries.empty()) scan_.Expect(",");
    const absl::string_view name = scan_.Peek() == '"' ? QuotedText() : scan_.Word();
    if (name.empty()) scan_.Fail("the name of an attribute is expected");
    const MlirAttribute* value = scan_.Take("=") ? Attribute() : New(MlirAttributeKind::kUnit);
    if (value != nullptr) entries.push_back({name, value});
  }
  return entries;
}

// 1, 1 : i32, 1.5 : f32, 0x7F800000 : f32
MlirAttribute* TextParser::Number(const MlirType* default_type) {
  const absl::string_view text = scan_.NumberText();
  const bool is_float = IsFloatText(text);
  const MlirType* type = default_type;
  if (scan_.Take(":")) type = Type();
  if (!ok()) return nullptr;
  if (type == nullptr) type = module_->Scalar(is_float ? ElementType::kF64 : ElementType::kS64);
  if (IsScalarOf(type, IsFloat)) {
    MlirAttribute* attribute = New(MlirAttributeKind::kFloat);
    attribute->type = type;
    int64_t bits = 0;
    if (absl::StartsWith(text, "0x") && ParseInteger(text, &bits)) {
      attribute->number = FloatFromBits(type->element, static_cast<uint64_t>(bits));
    } else if (!absl::SimpleAtod(text, &attribute->number)) {
      scan_.Fail(absl::StrCat("'", text, "' is not a number"));
    }
    return attribute;
  }
  MlirAttribute* attribute = New(MlirAttributeKind::kInteger);
  attribute->type = type;
  if (is_float || !ParseInteger(text, &attribute->integer))
    scan_.Fail(absl::StrCat("'", text, "' is not an integer"));
  if (type->kind == MlirTypeKind::kScalar && type->element == ElementType::kPred) {
    attribute->kind = MlirAttributeKind::kBool;
    attribute->integer &= 1;
  }
  return attribute;
}

// array<i64: 1, 2>
MlirAttribute* TextParser::DenseArray() {
  scan_.Expect("<");
  MlirAttribute* attribute = New(MlirAttributeKind::kDenseArray);
  attribute->type = Type();
  if (!ok()) return nullptr;
  const bool floats = IsScalarOf(attribute->type, IsFloat);
  std::string bytes;
  if (scan_.Take(":")) {
    while (ok() && !scan_.Take(">")) {
      if (!attribute->ints.empty() || !bytes.empty()) scan_.Expect(",");
      if (scan_.TakeWord("true") || scan_.TakeWord("false")) {
        attribute->ints.push_back(scan_.text()[scan_.position() - 2] == 'u');
      } else if (floats) {
        const MlirAttribute* number = Number(attribute->type);
        if (number == nullptr) break;
        const uint64_t bits = FloatToBits(attribute->type->element, number->number);
        bytes.append(reinterpret_cast<const char*>(&bits),
                     static_cast<size_t>(ByteWidth(attribute->type->element)));
      } else {
        attribute->ints.push_back(scan_.Integer());
      }
    }
  } else {
    scan_.Expect(">");
  }
  attribute->data = module_->Keep(std::move(bytes));
  return attribute;
}

MlirAttribute* TextParser::AliasedAttribute(absl::string_view name) {
  auto it = attribute_aliases_.find(name);
  if (it == attribute_aliases_.end()) {
    scan_.Fail(absl::StrCat("the alias #", name, " is not defined"));
    return nullptr;
  }
  Alias& alias = it->second;
  if (alias.attribute == nullptr && !alias.reading) {
    const size_t here = scan_.position();
    scan_.set_position(alias.position);
    alias.reading = true;
    alias.attribute = Attribute();
    alias.reading = false;
    scan_.set_position(here);
  }
  if (alias.attribute == nullptr)
    scan_.Fail(absl::StrCat("the alias #", name, " does not name an attribute"));
  return alias.attribute;
}

MlirAttribute* TextParser::OptionalLocation() {
  if (!scan_.TakeWord("loc")) return nullptr;
  scan_.Expect("(");
  MlirAttribute* location = LocationBody();
  scan_.Expect(")");
  return location;
}

// unknown, "file":1:2, "name"(...), callsite(... at ...), fused<...>[...], #alias
MlirAttribute* TextParser::LocationBody() {
  Nesting nesting(this);
  if (!ok()) return nullptr;
  if (scan_.Take("#")) return AliasedAttribute(scan_.Suffix());
  if (scan_.TakeWord("loc")) {
    scan_.Expect("(");
    MlirAttribute* inner = LocationBody();
    scan_.Expect(")");
    return inner;
  }
  MlirAttribute* location = New(MlirAttributeKind::kLocation);
  const auto add = [&](const MlirAttribute* inner) {
    if (inner != nullptr) location->elements.push_back(inner);
  };
  if (scan_.Peek() == '"') {
    const absl::string_view text = QuotedText();
    if (scan_.Take(":")) {
      location->data = text;
      location->integer = scan_.Integer();
      // A column, or a range "to :3:4".
      while (ok() && (scan_.Take(":") || scan_.TakeWord("to"))) scan_.NumberText();
      return location;
    }
    location->text = text;
    if (scan_.Take("(")) {
      add(LocationBody());
      scan_.Expect(")");
    }
  } else if (scan_.TakeWord("callsite")) {
    scan_.Expect("(");
    add(LocationBody());
    if (!scan_.TakeWord("at")) scan_.Fail("'at' is expected");
    add(LocationBody());
    scan_.Expect(")");
  } else if (scan_.TakeWord("fused")) {
    if (scan_.Take("<")) scan_.SkipToClose('>');
    scan_.Expect("[");
    while (ok() && !scan_.Take("]")) {
      add(LocationBody());
      scan_.Take(",");
    }
  } else if (!scan_.TakeWord("unknown")) {
    scan_.Fail("a location is expected");
  }
  return location;
}

MlirAttribute* TextParser::AttributeUnchecked(const MlirType* default_type) {
  const char next = scan_.Peek();
  if (next == '"') {
    MlirAttribute* attribute = StringAttribute(QuotedText());
    if (scan_.Take(":")) attribute->type = Type();
    return attribute;
  }
  if (next == '@') {
    MlirAttribute* attribute = New(MlirAttributeKind::kSymbol);
    attribute->text = SymbolName();
    while (ok() && scan_.Take("::")) {
      MlirAttribute* nested = New(MlirAttributeKind::kSymbol);
      nested->text = SymbolName();
      attribute->elements.push_back(nested);
    }
    return attribute;
  }
  if (next == '[') {
    MlirAttribute* attribute = New(MlirAttributeKind::kArray);
    scan_.Take("[");
    while (ok() && !scan_.Take("]")) {
      if (!attribute->elements.empty()) scan_.Expect(",");
      if (const MlirAttribute* element = Attribute()) attribute->elements.push_back(element);
    }
    return attribute;
  }
  if (next == '{') {
    MlirAttribute* attribute = New(MlirAttributeKind::kDictionary);
    attribute->entries = Dictionary();
    return attribute;
  }
  if (next == '#') return DialectAttribute();
  if (next == '-' || next == '+' || (next >= '0' && next <= '9')) return Number(default_type);
  if (scan_.TakeWord("unit")) return New(MlirAttributeKind::kUnit);
  if (scan_.TakeWord("dense")) return Dense();
  if (scan_.TakeWord("dense_resource")) return DenseResource();
  if (scan_.TakeWord("array")) return DenseArray();
  const bool is_true = scan_.TakeWord("true");
  if (is_true || scan_.TakeWord("false")) {
    MlirAttribute* attribute = New(MlirAttributeKind::kBool);
    attribute->integer = is_true ? 1 : 0;
    return attribute;
  }
  if (MlirAttribute* location = OptionalLocation()) return location;
  MlirAttribute* attribute = New(MlirAttributeKind::kType);
  attribute->type = Type();
  return attribute;
}

MlirAttribute* TextParser::Attribute(const MlirType* default_type) {
  Nesting nesting(this);
  if (!ok()) return nullptr;
  MlirAttribute* attribute = AttributeUnchecked(default_type);
  if (!ok() || attribute == nullptr) return nullptr;
  attribute->weight = TreeWeight(*attribute);
  if (attribute->weight > kMaxWeight) {
    scan_.Fail(absl::StrCat("an attribute of more than ", kMaxWeight, " parts"));
    return nullptr;
  }
  return attribute;
}

}  // namespace shoal

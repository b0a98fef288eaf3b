// dense<...> and dense_resource<...>.
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/stablehlo/bytecode_tables.h"
#include "core/stablehlo/dense_elements.h"
#include "core/stablehlo/text_parser.h"
#include "core/types/literal.h"

namespace shoal {
namespace {

bool AppendFloat(ElementType type, absl::string_view text, std::string* bytes) {
  uint64_t bits = 0;
  if (absl::StartsWith(text, "0x")) {
    int64_t value = 0;
    if (!ParseInteger(text, &value)) return false;
    bits = static_cast<uint64_t>(value);
  } else {
    double value = 0;
    if (!absl::SimpleAtod(text, &value)) return false;
    bits = FloatToBits(type, value);
  }
  bytes->append(reinterpret_cast<const char*>(&bits), static_cast<size_t>(ByteWidth(type)));
  return true;
}

bool AppendInteger(ElementType type, absl::string_view text, std::string* bytes) {
  int64_t value = 0;
  if (text == "true" || text == "false") {
    value = text == "true";
  } else if (!ParseInteger(text, &value)) {
    return false;
  }
  bytes->append(reinterpret_cast<const char*>(&value), static_cast<size_t>(ByteWidth(type)));
  return true;
}

// "0x..." to bytes; false if it is not that.
bool HexBytes(absl::string_view text, std::string* bytes) {
  if (!absl::StartsWith(text, "0x") || text.size() % 2 != 0) return false;
  text.remove_prefix(2);
  for (char c : text) {
    if (!absl::ascii_isxdigit(static_cast<unsigned char>(c))) return false;
  }
  *bytes = absl::HexStringToBytes(text);
  return true;
}

}  // namespace

// Numbers, booleans and strings of a nested list; a complex number is two.
void TextParser::DenseTokens(std::vector<std::string>* tokens, bool* strings, int depth) {
  if (depth > kMaxNesting) return scan_.Fail("a constant nested too deep");
  if (scan_.Take("[")) {
    for (bool first = true; ok() && !scan_.Take("]"); first = false) {
      if (!first) scan_.Expect(",");
      DenseTokens(tokens, strings, depth + 1);
    }
    return;
  }
  if (scan_.Take("(")) {
    for (int i = 0; i < 2 && ok(); ++i) {
      if (i > 0) scan_.Expect(",");
      tokens->emplace_back(scan_.NumberText());
    }
    return scan_.Expect(")");
  }
  if (scan_.Peek() == '"') {
    *strings = true;
    tokens->push_back(scan_.Quoted());
  } else if (scan_.TakeWord("true")) {
    tokens->push_back("true");
  } else if (scan_.TakeWord("false")) {
    tokens->push_back("false");
  } else {
    tokens->emplace_back(scan_.NumberText());
    if (tokens->back().empty()) scan_.Fail("an element of a constant is expected");
  }
}

std::string TextParser::EncodeElements(const std::vector<std::string>& tokens, const MlirType& element) {
  std::string bytes;
  ElementType type = element.kind == MlirTypeKind::kIndex ? ElementType::kS64 : element.element;
  if (IsComplex(type)) type = RealPart(type);
  for (const std::string& token : tokens) {
    const bool done = IsFloat(type) ? AppendFloat(type, token, &bytes) : AppendInteger(type, token, &bytes);
    if (!done) scan_.Fail(absl::StrCat("'", token, "' is not an element of type ", ToString(element)));
    if (!ok()) break;
  }
  return bytes;
}

MlirAttribute* TextParser::Dense() {
  scan_.Expect("<");
  std::vector<std::string> tokens;
  bool strings = false;
  const bool listed = scan_.Peek() == '[';
  if (scan_.Peek() != '>') DenseTokens(&tokens, &strings, 0);
  scan_.Expect(">");
  scan_.Expect(":");
  const MlirType* type = Type();
  if (!ok()) return nullptr;
  if (type->kind != MlirTypeKind::kTensor) {
    scan_.Fail(absl::StrCat("a constant of type ", ToString(*type)));
    return nullptr;
  }
  std::string bytes;
  const bool is_hex = strings && !listed && HexBytes(tokens[0], &bytes);
  const MlirType& element = *type->elements[0];
  if (strings && !is_hex) {
    MlirAttribute* attribute = New(MlirAttributeKind::kDenseStrings);
    attribute->type = type;
    for (std::string& token : tokens) {
      attribute->elements.push_back(StringAttribute(module_->Keep(std::move(token))));
    }
    return attribute;
  }
  if (!is_hex) bytes = EncodeElements(tokens, element);
  if (!ok()) return nullptr;
  absl::StatusOr<MlirAttribute*> attribute =
      MakeDenseElements(*type, module_->Keep(std::move(bytes)), module_);
  if (attribute.ok() && (*attribute)->splat && listed) {
    scan_.Fail(absl::StrCat("one element in a list for the type ", ToString(*type)));
  }
  if (attribute.ok()) return *attribute;
  scan_.Fail(attribute.status().message());
  return nullptr;
}

// {-# dialect_resources: { builtin: { key: "0x04000000..." } } #-} at the end of the text. The first four
// bytes are an alignment.
absl::string_view TextParser::ResourceBytes(absl::string_view key) {
  const size_t section = scan_.text().rfind("{-#");
  if (section == absl::string_view::npos) return {};
  const size_t here = scan_.position();
  scan_.set_position(section);
  absl::string_view bytes;
  for (const std::string& lead : {absl::StrCat(key, ":"), absl::StrCat("\"", key, "\":")}) {
    for (size_t at = scan_.text().find(lead, section); at != absl::string_view::npos && bytes.empty();
         at = scan_.text().find(lead, at + 1)) {
      const char before = scan_.text()[at - 1];
      if (absl::ascii_isalnum(static_cast<unsigned char>(before)) || before == '_' || before == '.') continue;
      scan_.set_position(at + lead.size());
      std::string hex;
      if (scan_.Peek() == '"' && HexBytes(scan_.Quoted(), &hex) && hex.size() > 4) {
        bytes = module_->Keep(hex.substr(4));
      }
    }
  }
  scan_.set_position(here);
  return bytes;
}

MlirAttribute* TextParser::DenseResource() {
  scan_.Expect("<");
  MlirAttribute* attribute = New(MlirAttributeKind::kResource);
  attribute->text = scan_.Peek() == '"' ? QuotedText() : scan_.Suffix();
  scan_.Expect(">");
  scan_.Expect(":");
  attribute->type = Type();
  attribute->data = ResourceBytes(attribute->text);
  return attribute;
}

}  // namespace shoal

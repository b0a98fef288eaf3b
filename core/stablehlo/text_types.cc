#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/stablehlo/bytecode_tables.h"
#include "core/stablehlo/text_parser.h"

namespace shoal {

TextParser::Nesting::Nesting(TextParser* parser) : parser_(parser) {
  if (++parser_->nesting_ > kMaxNesting) {
    parser_->scan_.Fail(absl::StrCat("types or attributes nested more than ", kMaxNesting, " deep"));
  }
}

// A line that begins with '#name =' or '!name =' defines an alias.
void TextParser::CollectAliases() {
  const absl::string_view text = scan_.text();
  for (size_t line = 0; line < text.size();) {
    const size_t end = std::min(text.find('\n', line), text.size());
    if (text[line] == '#' || text[line] == '!') {
      size_t name_end = line + 1;
      while (name_end < end &&
             (absl::ascii_isalnum(static_cast<unsigned char>(text[name_end])) || text[name_end] == '_')) {
        ++name_end;
      }
      size_t equals = name_end;
      while (equals < end && text[equals] == ' ') ++equals;
      if (equals < end && text[equals] == '=' && name_end > line + 1) {
        auto& aliases = text[line] == '#' ? attribute_aliases_ : type_aliases_;
        aliases[text.substr(line + 1, name_end - line - 1)].position = equals + 1;
      }
    }
    line = end + 1;
  }
}

std::vector<const MlirType*> TextParser::TypeList(absl::string_view close) {
  std::vector<const MlirType*> types;
  while (ok() && !scan_.Take(close)) {
    if (!types.empty()) scan_.Expect(",");
    const MlirType* type = Type();
    if (type == nullptr) break;
    types.push_back(type);
  }
  return types;
}

MlirType* TextParser::FunctionType() {
  MlirType* type = module_->NewType(MlirTypeKind::kFunction);
  type->elements = TypeList(")");
  scan_.Expect("->");
  if (scan_.Take("(")) {
    type->results = TypeList(")");
  } else if (const MlirType* result = Type()) {
    type->results.push_back(result);
  }
  return type;
}

// tensor<2x?xf32, encoding>; of vector and memref only the name is kept.
MlirType* TextParser::ShapedType(absl::string_view word) {
  scan_.Expect("<");
  if (word != "tensor") {
    scan_.SkipToClose('>');
    MlirType* type = module_->NewType(MlirTypeKind::kOther);
    type->name = word;
    return type;
  }
  MlirType* type = module_->NewType(MlirTypeKind::kTensor);
  if (scan_.Take("*")) {
    scan_.Expect("x");
    type->kind = MlirTypeKind::kUnranked;
  }
  while (ok() && type->kind == MlirTypeKind::kTensor) {
    if (scan_.Take("?")) {
      type->dims.push_back(kMlirDynamic);
    } else if (absl::ascii_isdigit(static_cast<unsigned char>(scan_.Peek()))) {
      int64_t dim = 0;
      // Not NumberText: "0x4" is two dimensions here.
      while (absl::ascii_isdigit(static_cast<unsigned char>(scan_.PeekHere()))) {
        if (dim > (INT64_MAX - 9) / 10) scan_.Fail("a dimension that is too large");
        dim = dim * 10 + (scan_.PeekHere() - '0');
        scan_.set_position(scan_.position() + 1);
      }
      type->dims.push_back(dim);
    } else {
      break;
    }
    scan_.Expect("x");
  }
  const MlirType* element = Type();
  if (element == nullptr) return nullptr;
  type->elements.push_back(element);
  if (scan_.Take(",")) type->encoding = Attribute();
  scan_.Expect(">");
  return ok() ? type : nullptr;
}

MlirType* TextParser::NamedType(absl::string_view word) {
  if (word == "tensor" || word == "vector" || word == "memref") return ShapedType(word);
  if (word == "index") return module_->NewType(MlirTypeKind::kIndex);
  if (word == "none") return module_->NewType(MlirTypeKind::kNone);
  if (word == "tuple") {
    MlirType* type = module_->NewType(MlirTypeKind::kTuple);
    scan_.Expect("<");
    type->elements = TypeList(">");
    return type;
  }
  std::string name(word);
  if (word == "complex") {
    scan_.Expect("<");
    name = absl::StrCat("complex<", scan_.Word(), ">");
    scan_.Expect(">");
  } else if (absl::StartsWith(word, "si")) {
    name = std::string(word.substr(1));
  }
  if (absl::StatusOr<ElementType> element = ParseMlirType(name); element.ok()) {
    MlirType* type = module_->NewType(MlirTypeKind::kScalar);
    type->element = *element;
    return type;
  }
  const bool sized =
      (word[0] == 'i' || word[0] == 'f' || absl::StartsWith(word, "si") || absl::StartsWith(word, "ui")) &&
      word.find_first_of("0123456789") != absl::string_view::npos;
  if (!sized && word != "tf32") {
    scan_.Fail(absl::StrCat("'", word, "' is not a type"));
    return nullptr;
  }
  MlirType* type = module_->NewType(MlirTypeKind::kOther);
  type->name = module_->Keep(name);
  return type;
}

// !quant.uniform<i8<-127:127>:f32:1, {0.1:-30,0.5:-20}>; without an axis one pair, without braces.
MlirType* TextParser::QuantizedType() {
  MlirQuantization q;
  scan_.Expect("<");
  absl::string_view storage = scan_.Word();  // i8, u8, ui8
  const bool is_unsigned = absl::ConsumePrefix(&storage, "u");
  absl::ConsumePrefix(&storage, "i");
  q.storage = ParseMlirType(absl::StrCat(is_unsigned ? "ui" : "i", storage)).value_or(ElementType::kToken);
  const int width = BitWidth(q.storage) - (IsSigned(q.storage) ? 1 : 0);
  q.storage_max = std::ldexp(1.0, width) - 1;
  q.storage_min = IsSigned(q.storage) ? -std::ldexp(1.0, width) : 0;
  if (scan_.Take("<")) {
    q.storage_min = static_cast<double>(scan_.Integer());
    scan_.Expect(":");
    q.storage_max = static_cast<double>(scan_.Integer());
    scan_.Expect(">");
  }
  scan_.Expect(":");
  const MlirType* expressed = Type();
  if (expressed == nullptr) return nullptr;
  q.expressed = expressed->element;
  if (scan_.Take(":")) q.axis = scan_.Integer();
  scan_.Expect(",");
  const bool braces = scan_.Take("{");
  do {
    double scale = 0;
    if (!absl::SimpleAtod(scan_.NumberText(), &scale)) scan_.Fail("a scale is expected");
    q.scales.push_back(scale);
    q.zero_points.push_back(scan_.Take(":") ? static_cast<double>(scan_.Integer()) : 0);
  } while (ok() && braces && scan_.Take(","));
  if (braces) scan_.Expect("}");
  scan_.Expect(">");
  if (!ok()) return nullptr;
  absl::StatusOr<MlirType*> type = module_->NewQuantized(std::move(q));
  if (type.ok()) return *type;
  scan_.Fail(type.status().message());
  return nullptr;
}

// !stablehlo.token, another dialect's type, or an alias.
MlirType* TextParser::DialectType() {
  const absl::string_view name = scan_.Suffix();
  auto alias = type_aliases_.find(name);
  if (alias != type_aliases_.end()) {
    Alias& entry = alias->second;
    if (entry.type == nullptr && !entry.reading) {
      const size_t here = scan_.position();
      scan_.set_position(entry.position);
      entry.reading = true;
      entry.type = Type();
      entry.reading = false;
      scan_.set_position(here);
    }
    if (entry.type == nullptr) scan_.Fail(absl::StrCat("the alias !", name, " does not name a type"));
    return entry.type;
  }
  if (name == "stablehlo.token" || name == "mhlo.token") return module_->NewType(MlirTypeKind::kToken);
  if (name == "stablehlo.future") {
    MlirType* type = module_->NewType(MlirTypeKind::kFuture);
    scan_.Expect("<");
    type->elements = TypeList(">");
    return type;
  }
  if (name == "quant.uniform") return QuantizedType();
  if (scan_.PeekHere() == '<') {
    scan_.Take("<");
    scan_.SkipToClose('>');
  }
  MlirType* type = module_->NewType(MlirTypeKind::kOther);
  type->name = module_->Keep(std::string(name));
  return type;
}

MlirType* TextParser::Type() {
  Nesting nesting(this);
  if (!ok()) return nullptr;
  MlirType* type = nullptr;
  if (scan_.Take("(")) {
    type = FunctionType();
  } else if (scan_.Take("!")) {
    type = DialectType();
  } else {
    const absl::string_view word = scan_.Word();
    if (word.empty()) {
      scan_.Fail("a type is expected");
      return nullptr;
    }
    type = NamedType(word);
  }
  if (!ok() || type == nullptr) return nullptr;
  type->weight = TreeWeight(*type);
  if (type->weight > kMaxWeight) {
    scan_.Fail(absl::StrCat("a type of more than ", kMaxWeight, " parts"));
    return nullptr;
  }
  return type;
}

}  // namespace shoal

#include "core/stablehlo/text_scanner.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace shoal {
namespace {

bool IsWordStart(char c) { return absl::ascii_isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool IsWordPart(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '.';
}

}  // namespace

void TextScanner::Fail(absl::string_view what) {
  if (!status_.ok()) return;
  const absl::string_view before = text_.substr(0, position_);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  status_ = absl::InvalidArgumentError(
      absl::StrCat("MLIR text: line ", line, ", column ", position_ - line_begin + 1, ": ", what));
}

void TextScanner::SkipSpace() {
  while (position_ < text_.size()) {
    if (absl::ascii_isspace(static_cast<unsigned char>(text_[position_]))) {
      ++position_;
    } else if (absl::StartsWith(text_.substr(position_), "//")) {
      position_ = std::min(text_.find('\n', position_), text_.size());
    } else {
      return;
    }
  }
}

bool TextScanner::AtEnd() {
  SkipSpace();
  return !ok() || position_ >= text_.size();
}

char TextScanner::Peek() {
  SkipSpace();
  return PeekHere();
}

bool TextScanner::Take(absl::string_view token) {
  SkipSpace();
  if (!ok() || !absl::StartsWith(text_.substr(position_), token)) return false;
  position_ += token.size();
  return true;
}

bool TextScanner::TakeWord(absl::string_view word) {
  SkipSpace();
  const size_t end = position_ + word.size();
  if (!ok() || !absl::StartsWith(text_.substr(position_), word)) return false;
  if (end < text_.size() && IsWordPart(text_[end])) return false;
  position_ = end;
  return true;
}

void TextScanner::Expect(absl::string_view token) {
  if (!Take(token)) Fail(absl::StrCat("'", token, "' is expected"));
}

absl::string_view TextScanner::Word() {
  SkipSpace();
  if (!IsWordStart(PeekHere())) return {};
  const size_t begin = position_;
  while (IsWordPart(PeekHere())) ++position_;
  return text_.substr(begin, position_ - begin);
}

absl::string_view TextScanner::Suffix() {
  const size_t begin = position_;
  while (IsWordPart(PeekHere()) || PeekHere() == '-') ++position_;
  if (begin == position_) Fail("a name is expected");
  return text_.substr(begin, position_ - begin);
}

absl::string_view TextScanner::NumberText() {
  SkipSpace();
  const size_t begin = position_;
  const auto digits = [&](auto is_digit) {
    while (is_digit(static_cast<unsigned char>(PeekHere()))) ++position_;
  };
  if (PeekHere() == '-' || PeekHere() == '+') ++position_;
  if (!absl::ascii_isdigit(static_cast<unsigned char>(PeekHere()))) {
    position_ = begin;
    return {};
  }
  if (absl::StartsWith(text_.substr(position_), "0x")) {
    position_ += 2;
    digits(absl::ascii_isxdigit);
    return text_.substr(begin, position_ - begin);
  }
  digits(absl::ascii_isdigit);
  if (PeekHere() == '.') {
    ++position_;
    digits(absl::ascii_isdigit);
  }
  if (PeekHere() == 'e' || PeekHere() == 'E') {
    const size_t exponent = position_++;
    if (PeekHere() == '-' || PeekHere() == '+') ++position_;
    if (!absl::ascii_isdigit(static_cast<unsigned char>(PeekHere()))) position_ = exponent;
    digits(absl::ascii_isdigit);
  }
  return text_.substr(begin, position_ - begin);
}

int64_t TextScanner::Integer() {
  int64_t value = 0;
  if (!ParseInteger(NumberText(), &value)) Fail("an integer is expected");
  return value;
}

std::string TextScanner::Quoted() {
  std::string out;
  Expect("\"");
  while (ok()) {
    if (position_ >= text_.size()) {
      Fail("a string without its closing quote");
      break;
    }
    const char c = text_[position_++];
    if (c == '"') break;
    if (c != '\\') {
      out += c;
      continue;
    }
    const char next = PeekHere();
    if (next == '"' || next == '\\') {
      out += next;
      ++position_;
    } else if (next == 'n' || next == 't') {
      out += next == 'n' ? '\n' : '\t';
      ++position_;
    } else {
      int value = 0;
      const absl::string_view hex = text_.substr(position_, 2);
      if (hex.size() != 2 || !absl::SimpleHexAtoi(hex, &value)) Fail("an unknown escape in a string");
      out += static_cast<char>(value);
      position_ += 2;
    }
  }
  return out;
}

void TextScanner::SkipToClose(char close) {
  std::string open(1, close);
  while (!open.empty()) {
    if (AtEnd()) return Fail(absl::StrCat("a closing '", open.substr(open.size() - 1), "' is missing"));
    const char c = text_[position_];
    if (c == '"') {
      Quoted();
      continue;
    }
    ++position_;
    if (c == '-' && PeekHere() == '>') {
      ++position_;
    } else if (c == '<') {
      open += '>';
    } else if (c == '(') {
      open += ')';
    } else if (c == '[') {
      open += ']';
    } else if (c == '{') {
      open += '}';
    } else if (c == open.back()) {
      open.pop_back();
    }
  }
}

bool ParseInteger(absl::string_view text, int64_t* value) {
  const bool negative = absl::StartsWith(text, "-");
  if (negative || absl::StartsWith(text, "+")) text.remove_prefix(1);
  if (text.empty()) return false;
  uint64_t magnitude = 0;
  if (absl::StartsWith(text, "0x")) {
    if (text.size() == 2 || !absl::SimpleHexAtoi(text, &magnitude)) return false;
  } else if (!absl::SimpleAtoi(text, &magnitude)) {
    return false;
  }
  *value = static_cast<int64_t>(negative ? ~magnitude + 1 : magnitude);
  return true;
}

}  // namespace shoal

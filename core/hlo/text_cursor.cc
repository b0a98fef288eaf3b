#include "core/hlo/text_cursor.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace shoal {
namespace {

constexpr int kMaxNesting = 80;

bool IsNameChar(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-'; }
bool IsWordChar(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '-'; }

}  // namespace

TextCursor TextCursor::Part(size_t begin, size_t end) const {
  TextCursor part = *this;
  part.position_ = begin;
  part.end_ = end;
  return part;
}

void TextCursor::SkipSpace() {
  while (position_ < end_) {
    if (absl::ascii_isspace(text_[position_])) {
      ++position_;
    } else if (absl::StartsWith(rest(), "/*")) {
      const size_t close = rest().find("*/", 2);
      position_ = close == absl::string_view::npos ? end_ : position_ + close + 2;
    } else if (absl::StartsWith(rest(), "//")) {
      const size_t newline = rest().find('\n');
      position_ = newline == absl::string_view::npos ? end_ : position_ + newline;
    } else {
      return;
    }
  }
}

bool TextCursor::AtEnd() {
  SkipSpace();
  return position_ >= end_;
}

char TextCursor::Peek() {
  SkipSpace();
  return PeekHere();
}

bool TextCursor::Eat(char c) {
  if (Peek() != c || position_ >= end_) return false;
  ++position_;
  return true;
}

bool TextCursor::Eat(absl::string_view word) {
  SkipSpace();
  if (!absl::StartsWith(rest(), word)) return false;
  position_ += word.size();
  return true;
}

absl::Status TextCursor::Expect(char c) {
  if (Eat(c)) return absl::OkStatus();
  return Bad(absl::StrCat("expected '", absl::string_view(&c, 1), "'"));
}

absl::StatusOr<std::string> TextCursor::Name() {
  Eat('%');
  if (PeekHere() == '"') return Quoted();
  const size_t begin = position_;
  while (IsNameChar(PeekHere())) ++position_;
  if (position_ == begin) return Bad("expected a name");
  return std::string(text_.substr(begin, position_ - begin));
}

absl::string_view TextCursor::Word() {
  SkipSpace();
  const size_t begin = position_;
  while (IsWordChar(PeekHere())) ++position_;
  return text_.substr(begin, position_ - begin);
}

absl::StatusOr<int64_t> TextCursor::Int() {
  SkipSpace();
  const size_t begin = position_;
  if (PeekHere() == '-') ++position_;
  while (absl::ascii_isdigit(PeekHere())) ++position_;
  int64_t value;
  if (!absl::SimpleAtoi(text_.substr(begin, position_ - begin), &value))
    return BadAt(begin, "expected an integer");
  return value;
}

absl::StatusOr<std::string> TextCursor::Quoted() {
  if (!Eat('"')) return Bad("expected a quoted string");
  const size_t begin = position_;
  while (position_ < end_ && text_[position_] != '"') position_ += text_[position_] == '\\' ? 2 : 1;
  if (position_ >= end_) {
    position_ = begin;
    return Bad("the string has no end");
  }
  std::string value;
  if (!absl::CUnescape(text_.substr(begin, position_ - begin), &value))
    return BadAt(begin, "bad escape in the string");
  ++position_;
  return value;
}

absl::string_view TextCursor::Token() {
  SkipSpace();
  const size_t begin = position_;
  while (position_ < end_ && !absl::ascii_isspace(text_[position_]) &&
         !absl::StrContains(",{}()", text_[position_])) {
    ++position_;
  }
  return text_.substr(begin, position_ - begin);
}

absl::StatusOr<TextCursor> TextCursor::Balanced() {
  SkipSpace();
  const size_t begin = position_;
  int nesting = 0;
  for (; position_ < end_; ++position_) {
    const char c = text_[position_];
    if (c == '/' && nesting > 0) {
      const size_t before = position_;
      SkipSpace();
      position_ = position_ > before ? position_ - 1 : before;
    } else if (c == '"') {
      SHOAL_RETURN_IF_ERROR(Quoted().status());
      --position_;
    } else if (c == '{' || c == '(' || c == '[') {
      if (++nesting > kMaxNesting) return Bad("brackets nest too deeply");
    } else if (c == '}' || c == ')' || c == ']') {
      if (--nesting < 0) break;
    } else if (nesting == 0 && (c == ',' || absl::ascii_isspace(c))) {
      break;
    }
  }
  if (nesting > 0) return BadAt(begin, "a bracket is not closed");
  if (position_ == begin) return Bad("expected a value");
  return Part(begin, position_);
}

absl::StatusOr<absl::string_view> TextCursor::ShapeText() {
  SkipSpace();
  const size_t begin = position_;
  if (PeekHere() == '(') {
    SHOAL_RETURN_IF_ERROR(Balanced().status());
    return text_.substr(begin, position_ - begin);
  }
  Word();
  if (PeekHere() != '[') return BadAt(begin, "expected a shape");
  // "f32[2,3]{1,0}", but not the brace of "-> f32[2,3] {".
  for (char close : {']', '}'}) {
    if (close == '}' && PeekHere() != '{') break;
    const size_t length = rest().find(close);
    if (length == absl::string_view::npos) return BadAt(begin, "a shape has no end");
    position_ += length + 1;
  }
  return text_.substr(begin, position_ - begin);
}

absl::Status TextCursor::BadAt(size_t position, absl::string_view what) const {
  const absl::string_view before = text_.substr(0, position);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t newline = before.rfind('\n');
  const size_t column = newline == absl::string_view::npos ? position + 1 : position - newline;
  absl::string_view here = text_.substr(std::min(position, text_.size()), 24);
  return absl::InvalidArgumentError(absl::StrCat(line, ":", column, ": ", what, " at \"",
                                                 absl::CEscape(here.substr(0, here.find('\n'))), "\""));
}

std::string QuotedText(absl::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n') {
      quoted += "\\n";
    } else if (absl::ascii_iscntrl(c)) {
      // Octal, for it ends after three digits whatever follows.
      const unsigned char bits = static_cast<unsigned char>(c);
      const char octal[] = {'\\', static_cast<char>('0' + (bits >> 6)),
                            static_cast<char>('0' + ((bits >> 3) & 7)), static_cast<char>('0' + (bits & 7)),
                            '\0'};
      quoted += octal;
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

bool IsPlainName(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsNameChar);
}

}  // namespace shoal

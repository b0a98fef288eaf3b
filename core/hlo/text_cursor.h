// TextCursor: a position in a text that is being read, and the small steps of readers of HLO text.
//
// Cheap to copy; the text outlives it. Whitespace and /* comments */ and // comments count for nothing
// between words. Failures are InvalidArgument with line and column of the whole text, also from a cursor over
// a part of it.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace shoal {

class TextCursor {
 public:
  explicit TextCursor(absl::string_view text) : text_(text), end_(text.size()) {}
  // The part [begin, end) of this cursor's text.
  TextCursor Part(size_t begin, size_t end) const;

  size_t position() const { return position_; }
  void set_position(size_t position) { position_ = position; }
  absl::string_view rest() const { return text_.substr(position_, end_ - position_); }
  void SkipSpace();
  bool AtEnd();
  // The next character after space, 0 at the end.
  char Peek();
  // What stands right here, without skipping space first; 0 at the end.
  char PeekHere() const { return position_ < end_ ? text_[position_] : '\0'; }

  bool Eat(char c);
  bool Eat(absl::string_view word);  // the characters, whatever follows
  absl::Status Expect(char c);
  // [A-Za-z0-9_.-]+, with a leading % eaten; or a quoted string.
  absl::StatusOr<std::string> Name();
  // [A-Za-z0-9_-]+, empty if there is none.
  absl::string_view Word();
  absl::StatusOr<int64_t> Int();
  absl::StatusOr<std::string> Quoted();  // "...", with \" \\ \n \t \xHH escapes
  // A number, name or other run of characters up to space or one of ",{}()".
  absl::string_view Token();
  // A part that ends before a ',', closing bracket or space outside brackets and quotes. Empty is an error.
  absl::StatusOr<TextCursor> Balanced();
  // The text of the shape that begins here.
  absl::StatusOr<absl::string_view> ShapeText();

  absl::Status Bad(absl::string_view what) const { return BadAt(position_, what); }
  absl::Status BadAt(size_t position, absl::string_view what) const;

 private:
  absl::string_view text_;
  size_t position_ = 0;
  size_t end_;
};

// `text` in double quotes with the escapes that Quoted reads.
std::string QuotedText(absl::string_view text);
// Whether `text` can stand as a name without quotes.
bool IsPlainName(absl::string_view text);

}  // namespace shoal

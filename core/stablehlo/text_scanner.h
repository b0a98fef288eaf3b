// TextScanner: a cursor over MLIR text, one small token at a time.
//
// Failure is sticky, as in ByteReader: the first one is kept with line and column; from then on every
// question is answered with no and every read with nothing, and the scanner stands at the end, so loops end.
// Whitespace and // comments are skipped before a token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace shoal {

class TextScanner {
 public:
  explicit TextScanner(absl::string_view text) : text_(text) {}

  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }
  // "MLIR text: line 3, column 7: <what>", unless there was a failure before.
  void Fail(absl::string_view what);

  absl::string_view text() const { return text_; }
  size_t position() const { return position_; }
  void set_position(size_t position) { position_ = position; }
  bool AtEnd();

  // The next character after space; 0 at the end.
  char Peek();
  // The character right here; 0 at the end.
  char PeekHere() const { return ok() && position_ < text_.size() ? text_[position_] : '\0'; }
  // Takes `token` if it comes next (whatever follows it); a word must end where it ends.
  bool Take(absl::string_view token);
  bool TakeWord(absl::string_view word);
  void Expect(absl::string_view token);
  // [A-Za-z_][A-Za-z0-9_$.]*, or nothing.
  absl::string_view Word();
  // What follows a '%', '^', '@' or '#': [A-Za-z0-9_$.-]+.
  absl::string_view Suffix();
  // A number as it stands: digits, hex digits, a sign, a point, an exponent; nothing if there is none.
  absl::string_view NumberText();
  int64_t Integer();
  // A quoted string with its escapes resolved.
  std::string Quoted();
  // Skips over everything up to the bracket that closes the one just taken, which it takes too.
  void SkipToClose(char close);

 private:
  void SkipSpace();

  absl::string_view text_;
  size_t position_ = 0;
  absl::Status status_;
};

// The value of a number that NumberText gave: decimal or 0x...; false if it is not an integer of 64 bits.
bool ParseInteger(absl::string_view text, int64_t* value);

}  // namespace shoal

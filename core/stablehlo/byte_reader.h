// ByteReader: a cursor over a range of one byte buffer, with MLIR bytecode's integer encodings.
//
// Failure is sticky: the first one is kept in a ReadFailure shared by all cursors of one read, with the
// offset at which it happened; from then on every read gives zero or nothing and remaining() is 0, so loops
// end. Callers check ok() where a wrong value could do harm, and the owner of the ReadFailure returns its
// status at the end. No count is believed before it was compared with the bytes that are left (Count).
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace shoal {

class ReadFailure {
 public:
  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }
  // Keeps the first failure: "MLIR bytecode: <what> at byte <offset>".
  void Set(size_t offset, absl::string_view what);

 private:
  absl::Status status_;
};

class ByteReader {
 public:
  ByteReader(absl::string_view buffer, ReadFailure* failure)
      : buffer_(buffer), pos_(0), end_(buffer.size()), failure_(failure) {}

  bool ok() const { return failure_->ok(); }
  size_t offset() const { return pos_; }
  size_t remaining() const { return ok() ? end_ - pos_ : 0; }
  bool empty() const { return remaining() == 0; }
  void Fail(absl::string_view what) { failure_->Set(pos_, what); }

  uint8_t Byte();
  // The low zero bits of the first byte tell how many bytes follow; a zero byte is followed by eight.
  uint64_t VarInt();
  // A varint with the sign in its lowest bit (zigzag).
  int64_t SignedVarInt();
  // A varint whose lowest bit is `*flag`.
  uint64_t VarIntWithFlag(bool* flag);
  // A varint that counts items of at least one byte each.
  size_t Count();
  absl::string_view Bytes(uint64_t size);
  absl::string_view NullTerminated();
  // Skips the 0xCB filler up to a multiple of `alignment`, a power of two.
  void AlignTo(uint64_t alignment);
  // A reader of the next `size` bytes, which are skipped here.
  ByteReader Sub(uint64_t size);
  // A section: id (high bit: aligned), length, alignment if so, filler, contents.
  ByteReader Section(uint8_t* id);
  // A reader of `size` bytes from the absolute `begin`, inside this reader's range.
  ByteReader At(size_t begin, size_t size) const;

 private:
  absl::string_view buffer_;
  size_t pos_;
  size_t end_;
  ReadFailure* failure_;
};

}  // namespace shoal

#include "core/stablehlo/byte_reader.h"

#include <cstring>

#include "absl/numeric/bits.h"
#include "absl/strings/str_cat.h"

namespace shoal {

void ReadFailure::Set(size_t offset, absl::string_view what) {
  if (!status_.ok()) return;
  status_ = absl::InvalidArgumentError(absl::StrCat("MLIR bytecode: ", what, " at byte ", offset));
}

uint8_t ByteReader::Byte() {
  if (remaining() == 0) {
    Fail("unexpected end");
    return 0;
  }
  return static_cast<uint8_t>(buffer_[pos_++]);
}

uint64_t ByteReader::VarInt() {
  const uint8_t first = Byte();
  if (first & 1) return first >> 1;
  if (!ok()) return 0;
  const int more = first == 0 ? 8 : absl::countr_zero(first);
  if (remaining() < static_cast<size_t>(more)) {
    Fail("unexpected end inside an integer");
    return 0;
  }
  uint64_t value = 0;
  if (more == 8) {
    std::memcpy(&value, buffer_.data() + pos_, 8);
    pos_ += 8;
    return value;
  }
  // The marker and its zeros take more + 1 bits of the little-endian number.
  std::memcpy(&value, buffer_.data() + pos_ - 1, more + 1);
  pos_ += more;
  return value >> (more + 1);
}

int64_t ByteReader::SignedVarInt() {
  const uint64_t coded = VarInt();
  return static_cast<int64_t>((coded >> 1) ^ (~(coded & 1) + 1));
}

uint64_t ByteReader::VarIntWithFlag(bool* flag) {
  const uint64_t coded = VarInt();
  *flag = coded & 1;
  return coded >> 1;
}

size_t ByteReader::Count() {
  const uint64_t count = VarInt();
  if (count > remaining()) {
    Fail(absl::StrCat("a list of ", count, " entries where only ", remaining(), " bytes are left"));
    return 0;
  }
  return count;
}

absl::string_view ByteReader::Bytes(uint64_t size) {
  if (size > remaining()) {
    Fail(absl::StrCat(size, " bytes are wanted where only ", remaining(), " are left"));
    return {};
  }
  absl::string_view bytes = buffer_.substr(pos_, size);
  pos_ += size;
  return bytes;
}

absl::string_view ByteReader::NullTerminated() {
  const size_t left = remaining();
  const size_t length = buffer_.substr(pos_, left).find('\0');
  if (length == absl::string_view::npos) {
    Fail("a string without its terminating zero");
    return {};
  }
  absl::string_view text = buffer_.substr(pos_, length);
  pos_ += length + 1;
  return text;
}

void ByteReader::AlignTo(uint64_t alignment) {
  if (!absl::has_single_bit(alignment))
    return Fail(absl::StrCat("alignment ", alignment, " is no power of two"));
  while (ok() && pos_ % alignment != 0) {
    if (Byte() != 0xCB) Fail("alignment filler is not 0xCB");
  }
}

ByteReader ByteReader::Sub(uint64_t size) {
  ByteReader sub = *this;
  const size_t begin = pos_;
  Bytes(size);
  sub.pos_ = begin;
  sub.end_ = pos_;
  return sub;
}

ByteReader ByteReader::Section(uint8_t* id) {
  const uint8_t byte = Byte();
  *id = byte & 0x7F;
  const uint64_t length = VarInt();
  if (byte & 0x80) AlignTo(VarInt());
  return Sub(length);
}

ByteReader ByteReader::At(size_t begin, size_t size) const {
  ByteReader sub = *this;
  if (begin > end_ || size > end_ - begin) {
    sub.Fail("an entry reaches past its section");
    begin = end_;
    size = 0;
  }
  sub.pos_ = begin;
  sub.end_ = begin + size;
  return sub;
}

}  // namespace shoal

#include "core/hlo/literal_text.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace shoal {
namespace {

constexpr int64_t kMaxRank = 64;  // of nested braces, which are read by recursion

uint64_t BitsAt(const char* bytes, int width) {
  uint64_t bits = 0;
  std::memcpy(&bits, bytes, width);
  return bits;
}

std::string FloatText(ElementType type, const char* bytes) {
  const uint64_t bits = BitsAt(bytes, ByteWidth(type));
  const double value = FloatFromBits(type, bits);
  if (std::isnan(value)) {
    const bool plain = bits == FloatToBits(type, std::numeric_limits<double>::quiet_NaN());
    return plain ? "nan" : absl::StrCat("nan(0x", absl::Hex(bits), ")");
  }
  char text[32];
  // The fewest digits that tell it from other floats would do for f8e8m0fnu, too, but for its smallest
  // number: that is read as the next one if it is a little more.
  const bool all_digits = type == ElementType::kF64 || type == ElementType::kF8E8M0FNU;
  const auto end = all_digits ? std::to_chars(text, text + sizeof(text), value)
                              : std::to_chars(text, text + sizeof(text), static_cast<float>(value));
  return std::string(text, end.ptr);
}

std::string ElementText(const Literal& literal, int64_t i) {
  const ElementType type = literal.shape().element_type();
  const char* bytes = literal.data() + i * ByteWidth(type);
  if (IsComplex(type)) {
    const ElementType part = RealPart(type);
    return absl::StrCat("(", FloatText(part, bytes), ", ", FloatText(part, bytes + ByteWidth(part)), ")");
  }
  if (IsFloat(type)) return FloatText(type, bytes);
  if (type == ElementType::kPred) return *bytes ? "true" : "false";
  if (type == ElementType::kU64) return absl::StrCat(literal.Get<uint64_t>(i));
  return absl::StrCat(literal.AsInt(i));
}

// Appends the part of dimension `dim` that begins at element `first`.
void AppendElements(const Literal& literal, int64_t dim, int64_t first, std::string& text) {
  const auto dims = literal.shape().dims();
  if (dim == literal.shape().rank()) {
    text += ElementText(literal, first);
    return;
  }
  const int64_t step = Product(dims.subspan(dim + 1));
  const bool innermost = dim + 1 == literal.shape().rank();
  text += innermost ? "{" : "{ ";
  for (int64_t i = 0; i < dims[dim]; ++i) {
    if (i > 0) text += ", ";
    AppendElements(literal, dim + 1, first + i * step, text);
  }
  text += innermost ? "}" : " }";
}

// Reads elements in order into the bytes of a literal.
class LiteralReader {
 public:
  LiteralReader(Literal& literal, TextCursor& cursor)
      : literal_(literal), cursor_(cursor), type_(literal.shape().element_type()) {}

  absl::Status Read(int64_t dim) {
    const Shape& shape = literal_.shape();
    if (dim == shape.rank()) return ReadElement();
    SHOAL_RETURN_IF_ERROR(cursor_.Expect('{'));
    if (shape.dim(dim) > 0 && Product(shape.dims().subspan(dim)) == 0) return ReadEmpty();
    for (int64_t i = 0; i < shape.dim(dim); ++i) {
      if (i > 0) SHOAL_RETURN_IF_ERROR(cursor_.Expect(','));
      SHOAL_RETURN_IF_ERROR(Read(dim + 1));
    }
    return cursor_.Expect('}');
  }

 private:
  // "{ {}, {} }" of f32[2,0], in whatever number: there is nothing in it. The opening brace has been read.
  absl::Status ReadEmpty() {
    int64_t open = 1;
    while (open > 0) {
      if (cursor_.Eat('{')) {
        ++open;
      } else if (cursor_.Eat('}')) {
        --open;
      } else {
        SHOAL_RETURN_IF_ERROR(cursor_.Expect(','));
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadElement() {
    if (!IsComplex(type_)) return ReadScalar(type_);
    const ElementType part = RealPart(type_);
    SHOAL_RETURN_IF_ERROR(cursor_.Expect('('));
    SHOAL_RETURN_IF_ERROR(ReadScalar(part));
    SHOAL_RETURN_IF_ERROR(cursor_.Expect(','));
    SHOAL_RETURN_IF_ERROR(ReadScalar(part));
    return cursor_.Expect(')');
  }

  absl::Status ReadScalar(ElementType type) {
    cursor_.SkipSpace();
    const size_t place = cursor_.position();
    const absl::string_view token = cursor_.Token();
    uint64_t bits = 0;
    bool good;
    if (token == "nan" && cursor_.PeekHere() == '(') {
      cursor_.Eat('(');
      good = absl::SimpleHexAtoi(cursor_.Token(), &bits) && cursor_.Eat(')');
    } else if (IsFloat(type)) {
      good = ParseFloat(type, token, bits);
    } else if (type == ElementType::kPred) {
      good = token == "true" || token == "false" || token == "1" || token == "0";
      bits = token == "true" || token == "1";
    } else {
      good = ParseInt(type, token, bits);
    }
    if (!good) return cursor_.BadAt(place, absl::StrCat("expected a number of type ", ElementTypeName(type)));
    std::memcpy(literal_.mutable_data() + offset_, &bits, ByteWidth(type));
    offset_ += ByteWidth(type);
    return absl::OkStatus();
  }

  static bool ParseFloat(ElementType type, absl::string_view token, uint64_t& bits) {
    if (type == ElementType::kF32) {
      // Not by way of double, which would round twice.
      float value;
      if (!absl::SimpleAtof(token, &value)) return false;
      bits = FloatToBits(type, value);
      return true;
    }
    double value;
    if (!absl::SimpleAtod(token, &value)) return false;
    bits = FloatToBits(type, value);
    return true;
  }

  static bool ParseInt(ElementType type, absl::string_view token, uint64_t& bits) {
    if (type == ElementType::kU64) return absl::SimpleAtoi(token, &bits);
    int64_t value;
    if (!absl::SimpleAtoi(token, &value)) return false;
    bits = static_cast<uint64_t>(value);
    const int width = BitWidth(type);
    if (width == 64) return true;
    const int64_t low = IsSigned(type) ? -(int64_t{1} << (width - 1)) : 0;
    const int64_t high = IsSigned(type) ? -(low + 1) : (int64_t{1} << width) - 1;
    return value >= low && value <= high;
  }

  Literal& literal_;
  TextCursor& cursor_;
  ElementType type_;
  size_t offset_ = 0;
};

absl::StatusOr<Literal> BytesFromText(const Shape& shape, TextCursor& cursor) {
  const size_t place = cursor.position();
  SHOAL_ASSIGN_OR_RETURN(std::string text, cursor.Quoted());
  if (!absl::StartsWith(text, "0x") || static_cast<int64_t>(text.size()) - 2 != 2 * shape.ByteSize() ||
      text.find_first_not_of("0123456789abcdefABCDEF", 2) != std::string::npos) {
    return cursor.BadAt(place,
                        absl::StrCat("expected \"0x\" and ", shape.ByteSize(), " bytes in hexadecimal"));
  }
  return Literal::FromBytes(shape, absl::HexStringToBytes(absl::string_view(text).substr(2)));
}

}  // namespace

std::string LiteralToText(const Literal& literal, int64_t max_elements) {
  if (literal.shape().ElementCount() > max_elements || literal.shape().rank() > kMaxRank) {
    return absl::StrCat(
        "\"0x", absl::BytesToHexString(absl::string_view(literal.data(), literal.size_bytes())), "\"");
  }
  std::string text;
  AppendElements(literal, 0, 0, text);
  return text;
}

absl::StatusOr<Literal> LiteralFromText(const Shape& shape, TextCursor& cursor) {
  if (!shape.IsArray()) return cursor.Bad(absl::StrCat("a constant cannot be of type ", shape.ToString()));
  if (cursor.Peek() == '"') return BytesFromText(shape, cursor);
  if (shape.rank() > kMaxRank) return cursor.Bad("too many dimensions for nested braces");
  // Every element takes a character at least, so that a short text cannot ask for much memory.
  if (shape.ElementCount() > static_cast<int64_t>(cursor.rest().size()))
    return cursor.Bad(absl::StrCat("too few elements for ", shape.ToString()));
  Literal literal(shape);
  SHOAL_RETURN_IF_ERROR(LiteralReader(literal, cursor).Read(0));
  return literal;
}

}  // namespace shoal

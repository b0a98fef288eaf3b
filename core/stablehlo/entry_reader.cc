#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/stablehlo/dialect_bytecode.h"
#include "core/types/literal.h"

namespace shoal {
namespace {

int64_t SignExtend(uint64_t value, int width) {
  const int shift = 64 - width;
  return static_cast<int64_t>(value << shift) >> shift;
}

// The width of an integer type that no array can have ("i24"), or 0.
int WidthOfOther(const MlirType& type) {
  absl::string_view name = type.name;
  int width = 0;
  const size_t digits = name.find_first_of("0123456789");
  if (type.kind != MlirTypeKind::kOther || digits == absl::string_view::npos) return 0;
  const absl::string_view prefix = name.substr(0, digits);
  if (prefix != "i" && prefix != "si" && prefix != "ui") return 0;
  return absl::SimpleAtoi(name.substr(digits), &width) && width > 0 && width <= 64 ? width : 0;
}

std::string UnpackBits(absl::string_view packed, size_t count) {
  std::string bytes(count, '\0');
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>((packed[i / 8] >> (i % 8)) & 1);
  return bytes;
}

}  // namespace

const MlirAttribute* EntryReader::OptionalAttribute() {
  bool present = false;
  const uint64_t index = bytes_.VarIntWithFlag(&present);
  return present ? tables_->AttributeAt(index, bytes_) : nullptr;
}

std::vector<const MlirAttribute*> EntryReader::Attributes() {
  std::vector<const MlirAttribute*> attributes;
  const size_t count = bytes_.Count();
  for (size_t i = 0; i < count && ok(); ++i) attributes.push_back(Attribute());
  if (!ok()) attributes.clear();
  return attributes;
}

std::vector<const MlirType*> EntryReader::Types() {
  std::vector<const MlirType*> types;
  const size_t count = bytes_.Count();
  for (size_t i = 0; i < count && ok(); ++i) types.push_back(Type());
  if (!ok()) types.clear();
  return types;
}

std::vector<int64_t> EntryReader::SignedVarInts() {
  std::vector<int64_t> values;
  const size_t count = bytes_.Count();
  for (size_t i = 0; i < count && ok(); ++i) values.push_back(SignedVarInt());
  return values;
}

absl::string_view EntryReader::TextAttribute() {
  const MlirAttribute* attribute = Attribute();
  if (attribute == nullptr) return {};
  if (attribute->kind == MlirAttributeKind::kString || attribute->kind == MlirAttributeKind::kSymbol) {
    return attribute->text;
  }
  Fail("a string was expected");
  return {};
}

double EntryReader::Double() {
  return FloatFromBits(ElementType::kF64, static_cast<uint64_t>(SignedVarInt()));
}

// Up to eight bits stand in a byte, up to 64 in a signed varint.
MlirAttribute* EntryReader::Number(const MlirType* type) {
  if (type == nullptr) return nullptr;
  const bool scalar = type->kind == MlirTypeKind::kScalar;
  int width = WidthOfOther(*type);
  if (scalar) width = BitWidth(type->element);
  if (type->kind == MlirTypeKind::kIndex) width = 64;
  if (width == 0 || width > 64 || (scalar && IsComplex(type->element))) {
    Fail(absl::StrCat("a number of type ", ToString(*type)));
    return nullptr;
  }
  const uint64_t bits = width <= 8 ? bytes_.Byte() : static_cast<uint64_t>(bytes_.SignedVarInt());
  if (scalar && type->element == ElementType::kPred) {
    MlirAttribute* attribute = module()->NewAttribute(MlirAttributeKind::kBool);
    attribute->integer = static_cast<int64_t>(bits & 1);
    return attribute;
  }
  const bool is_float = scalar && IsFloat(type->element);
  MlirAttribute* attribute =
      module()->NewAttribute(is_float ? MlirAttributeKind::kFloat : MlirAttributeKind::kInteger);
  attribute->type = type;
  if (is_float) {
    attribute->number = FloatFromBits(type->element, bits);
  } else if (scalar && IsUnsigned(type->element)) {
    attribute->integer = static_cast<int64_t>(bits & (~uint64_t{0} >> (64 - width)));
  } else {
    attribute->integer = SignExtend(bits, width);
  }
  return attribute;
}

MlirAttribute* EntryReader::DenseElements(const MlirType* type, absl::string_view blob) {
  if (!ok() || type == nullptr) return nullptr;
  // Layouts are constants of type index, which takes eight bytes.
  const bool is_index =
      type->kind == MlirTypeKind::kTensor && type->elements[0]->kind == MlirTypeKind::kIndex;
  if (!is_index &&
      (type->kind != MlirTypeKind::kTensor || type->elements[0]->kind != MlirTypeKind::kScalar)) {
    Fail(absl::StrCat("a constant of type ", ToString(*type)));
    return nullptr;
  }
  const ElementType element = is_index ? ElementType::kS64 : type->elements[0]->element;
  absl::StatusOr<int64_t> count = CheckedProduct(type->dims, 16);
  if (!count.ok()) {
    Fail(absl::StrCat("a constant of type ", ToString(*type), ": ", count.status().message()));
    return nullptr;
  }
  const size_t elements = static_cast<size_t>(Product(type->dims));
  const size_t width = static_cast<size_t>(ByteWidth(element));
  MlirAttribute* attribute = module()->NewAttribute(MlirAttributeKind::kDenseElements);
  attribute->type = type;
  attribute->data = blob;
  if (element == ElementType::kPred) {
    // A splat of true is 0xFF; otherwise eight elements share a byte (older writers: one byte each).
    if (blob.size() == 1 && static_cast<uint8_t>(blob[0]) == 0xFF) {
      attribute->data = absl::string_view("\1", 1);
    } else if (blob.size() == (elements + 7) / 8 && blob.size() != elements) {
      attribute->data = module()->Keep(UnpackBits(blob, elements));
    } else if (elements == 1 && blob.size() == 1) {
      attribute->data = blob[0] & 1 ? absl::string_view("\1", 1) : absl::string_view("\0", 1);
    }
  }
  attribute->splat = attribute->data.size() == width && elements != 1;
  if (!attribute->splat && attribute->data.size() != elements * width) {
    Fail(absl::StrCat("a constant of type ", ToString(*type), " with ", blob.size(), " bytes"));
    return nullptr;
  }
  return attribute;
}

}  // namespace shoal

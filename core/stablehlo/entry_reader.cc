#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/stablehlo/dense_elements.h"
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

MlirAttribute* EntryReader::Dictionary() {
  MlirAttribute* attribute = module()->NewAttribute(MlirAttributeKind::kDictionary);
  const size_t count = bytes_.Count();
  for (size_t i = 0; i < count && ok(); ++i) {
    const absl::string_view name = TextAttribute();
    const MlirAttribute* value = Attribute();
    if (value != nullptr) attribute->entries.push_back({name, value});
  }
  return attribute;
}

MlirType* EntryReader::ScalarType(ElementType element) {
  MlirType* type = module()->NewType(MlirTypeKind::kScalar);
  type->element = element;
  return type;
}

MlirType* EntryReader::OtherType(absl::string_view name) {
  MlirType* type = module()->NewType(MlirTypeKind::kOther);
  type->name = name;
  return type;
}

MlirType* EntryReader::ComplexType() {
  const MlirType* part = Type();
  if (part == nullptr) return nullptr;
  if (part->element == ElementType::kF32) return ScalarType(ElementType::kC64);
  if (part->element == ElementType::kF64) return ScalarType(ElementType::kC128);
  Fail(absl::StrCat("a complex type of ", ToString(*part)));
  return nullptr;
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
  absl::StatusOr<MlirAttribute*> attribute = MakeDenseElements(*type, blob, module());
  if (attribute.ok()) return *attribute;
  Fail(attribute.status().message());
  return nullptr;
}

}  // namespace shoal

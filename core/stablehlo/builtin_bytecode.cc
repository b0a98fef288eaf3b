// MLIR's builtin dialect. The numbers are part of the bytecode format.
#include "absl/strings/str_cat.h"
#include "core/stablehlo/dialect_bytecode.h"
#include "core/types/literal.h"

namespace shoal {
namespace {

enum AttributeCode : uint64_t {
  kArray = 0,
  kDictionary = 1,
  kString = 2,
  kTypedString = 3,
  kFlatSymbol = 4,
  kSymbol = 5,
  kType = 6,
  kUnit = 7,
  kInteger = 8,
  kFloat = 9,
  kCallSiteLocation = 10,
  kFileLocation = 11,
  kFusedLocation = 12,
  kFusedLocationWithMetadata = 13,
  kNameLocation = 14,
  kUnknownLocation = 15,
  kDenseResource = 16,
  kDenseArray = 17,
  kDenseElements = 18,
  kDenseStrings = 19,
  kFileRangeLocation = 22,
};

enum TypeCode : uint64_t {
  kIntegerType = 0,
  kIndexType = 1,
  kFunctionType = 2,
  kBf16Type = 3,
  kF16Type = 4,
  kF32Type = 5,
  kF64Type = 6,
  kF80Type = 7,
  kF128Type = 8,
  kComplexType = 9,
  kNoneType = 12,
  kRankedTensorType = 13,
  kRankedTensorWithEncodingType = 14,
  kTupleType = 15,
  kUnrankedTensorType = 18,
  kF8E5M2Type = 22,
  kF8E4M3Type = 23,
  kF8E4M3FNType = 24,
  kF8E5M2FNUZType = 25,
  kF8E4M3FNUZType = 26,
  kF8E4M3B11FNUZType = 27,
  kF8E3M4Type = 28,
  kF4E2M1FNType = 29,
  kF8E8M0FNUType = 32,
};

MlirAttribute* Text(EntryReader& reader, MlirAttributeKind kind, absl::string_view text) {
  MlirAttribute* attribute = reader.module()->NewAttribute(kind);
  attribute->text = text;
  return attribute;
}

MlirAttribute* Location(EntryReader& reader, uint64_t code) {
  MlirAttribute* location = reader.module()->NewAttribute(MlirAttributeKind::kLocation);
  switch (code) {
    case kCallSiteLocation:
      for (int i = 0; i < 2; ++i) {
        if (const MlirAttribute* inner = reader.Attribute()) location->elements.push_back(inner);
      }
      break;
    case kFileLocation:
      location->data = reader.TextAttribute();
      location->integer = static_cast<int64_t>(reader.VarInt());
      reader.VarInt();  // column
      break;
    case kFileRangeLocation:
      location->data = reader.TextAttribute();
      if (reader.bytes().VarInt() > 0) location->integer = static_cast<int64_t>(reader.bytes().VarInt());
      reader.bytes().Bytes(reader.bytes().remaining());  // columns, and where it ends
      break;
    case kFusedLocation:
    case kFusedLocationWithMetadata:
      location->elements = reader.Attributes();
      if (code == kFusedLocationWithMetadata) reader.Attribute();
      break;
    case kNameLocation:
      location->text = reader.TextAttribute();
      if (const MlirAttribute* inner = reader.Attribute()) location->elements.push_back(inner);
      break;
    default:  // unknown place
      break;
  }
  return location;
}

MlirAttribute* DenseResource(EntryReader& reader) {
  MlirAttribute* attribute = reader.module()->NewAttribute(MlirAttributeKind::kResource);
  attribute->type = reader.Type();
  const BytecodeTables::Resource* resource = reader.Resource();
  if (resource == nullptr) return nullptr;
  attribute->text = resource->key;
  attribute->data = resource->bytes;
  return attribute;
}

MlirAttribute* DenseArray(EntryReader& reader) {
  MlirAttribute* attribute = reader.module()->NewAttribute(MlirAttributeKind::kDenseArray);
  attribute->type = reader.Type();
  const uint64_t count = reader.VarInt();
  const absl::string_view blob = reader.Blob();
  if (!reader.ok()) return nullptr;
  const MlirType& type = *attribute->type;
  const int width = type.kind == MlirTypeKind::kScalar ? ByteWidth(type.element) : 0;
  if (width == 0 || blob.size() / width != count || blob.size() % width != 0) {
    reader.Fail(absl::StrCat("an array of ", count, " ", ToString(type), " with ", blob.size(), " bytes"));
    return nullptr;
  }
  if (IsFloat(type.element) || IsComplex(type.element)) {
    attribute->data = blob;
    return attribute;
  }
  absl::StatusOr<Literal> values =
      Literal::FromBytes(Shape::Array(type.element, {static_cast<int64_t>(count)}), std::string(blob));
  if (!values.ok()) {
    reader.Fail(values.status().message());
    return nullptr;
  }
  for (uint64_t i = 0; i < count; ++i) attribute->ints.push_back(values->AsInt(static_cast<int64_t>(i)));
  return attribute;
}

// A splat holds one string; the others one an element.
MlirAttribute* DenseStrings(EntryReader& reader) {
  MlirAttribute* attribute = reader.module()->NewAttribute(MlirAttributeKind::kDenseStrings);
  attribute->type = reader.Type();
  attribute->splat = reader.VarInt() != 0;
  if (!reader.ok()) return nullptr;
  if (attribute->type->kind != MlirTypeKind::kTensor) {
    reader.Fail("strings of a type that is no tensor");
    return nullptr;
  }
  absl::StatusOr<int64_t> count = CheckedProduct(attribute->type->dims);
  if (!count.ok() || (!attribute->splat && static_cast<uint64_t>(*count) > reader.bytes().remaining())) {
    reader.Fail("more strings than bytes");
    return nullptr;
  }
  const int64_t strings = attribute->splat ? 1 : *count;
  for (int64_t i = 0; i < strings && reader.ok(); ++i) {
    attribute->elements.push_back(Text(reader, MlirAttributeKind::kString, reader.String()));
  }
  return attribute;
}

MlirAttribute* Symbol(EntryReader& reader, bool nested) {
  MlirAttribute* attribute = Text(reader, MlirAttributeKind::kSymbol, reader.TextAttribute());
  if (nested) attribute->elements = reader.Attributes();
  return attribute;
}

MlirType* IntegerType(EntryReader& reader) {
  constexpr absl::string_view kPrefixes[] = {"i", "si", "ui"};
  const uint64_t coded = reader.VarInt();
  if ((coded & 3) == 3) {
    reader.Fail("an integer type of unknown signedness");
    return nullptr;
  }
  const std::string name = absl::StrCat(kPrefixes[coded & 3], coded >> 2);
  // "si32" is what StableHLO means by "i32".
  absl::StatusOr<ElementType> element = ParseMlirType((coded & 3) == 1 ? name.substr(1) : name);
  MlirType* type = reader.module()->NewType(element.ok() ? MlirTypeKind::kScalar : MlirTypeKind::kOther);
  if (element.ok()) type->element = *element;
  type->name = reader.module()->Keep(name);
  return type;
}

MlirType* TensorType(EntryReader& reader, bool has_encoding) {
  MlirType* type = reader.module()->NewType(MlirTypeKind::kTensor);
  if (has_encoding) type->encoding = reader.Attribute();
  for (int64_t dim : reader.SignedVarInts()) type->dims.push_back(dim);
  const MlirType* element = reader.Type();
  if (element == nullptr) return nullptr;
  type->elements.push_back(element);
  return type;
}

constexpr std::pair<TypeCode, ElementType> kScalarTypes[] = {
    {kBf16Type, ElementType::kBF16},
    {kF16Type, ElementType::kF16},
    {kF32Type, ElementType::kF32},
    {kF64Type, ElementType::kF64},
    {kF8E5M2Type, ElementType::kF8E5M2},
    {kF8E4M3Type, ElementType::kF8E4M3},
    {kF8E4M3FNType, ElementType::kF8E4M3FN},
    {kF8E5M2FNUZType, ElementType::kF8E5M2FNUZ},
    {kF8E4M3FNUZType, ElementType::kF8E4M3FNUZ},
    {kF8E4M3B11FNUZType, ElementType::kF8E4M3B11FNUZ},
    {kF8E3M4Type, ElementType::kF8E3M4},
    {kF4E2M1FNType, ElementType::kF4E2M1FN},
    {kF8E8M0FNUType, ElementType::kF8E8M0FNU},
};

}  // namespace

MlirAttribute* ReadBuiltinAttribute(EntryReader& reader) {
  const uint64_t code = reader.VarInt();
  switch (code) {
    case kArray: {
      MlirAttribute* attribute = reader.module()->NewAttribute(MlirAttributeKind::kArray);
      attribute->elements = reader.Attributes();
      return attribute;
    }
    case kDictionary:
      return reader.Dictionary();
    case kString:
      return Text(reader, MlirAttributeKind::kString, reader.String());
    case kTypedString: {
      MlirAttribute* attribute = Text(reader, MlirAttributeKind::kString, reader.String());
      attribute->type = reader.Type();
      return attribute;
    }
    case kFlatSymbol:
    case kSymbol:
      return Symbol(reader, code == kSymbol);
    case kType: {
      MlirAttribute* attribute = reader.module()->NewAttribute(MlirAttributeKind::kType);
      attribute->type = reader.Type();
      return attribute;
    }
    case kUnit:
      return reader.module()->NewAttribute(MlirAttributeKind::kUnit);
    case kInteger:
    case kFloat:
      return reader.Number(reader.Type());
    case kCallSiteLocation:
    case kFileLocation:
    case kFusedLocation:
    case kFusedLocationWithMetadata:
    case kNameLocation:
    case kUnknownLocation:
    case kFileRangeLocation:
      return Location(reader, code);
    case kDenseResource:
      return DenseResource(reader);
    case kDenseArray:
      return DenseArray(reader);
    case kDenseElements: {
      const MlirType* type = reader.Type();
      return reader.DenseElements(type, reader.Blob());
    }
    case kDenseStrings:
      return DenseStrings(reader);
    default:
      reader.Fail(absl::StrCat("builtin attribute code ", code));
      return nullptr;
  }
}

MlirType* ReadBuiltinType(EntryReader& reader) {
  const uint64_t code = reader.VarInt();
  MlirModule* module = reader.module();
  for (const auto& [scalar, type] : kScalarTypes) {
    if (code == scalar) return reader.ScalarType(type);
  }
  switch (code) {
    case kIntegerType:
      return IntegerType(reader);
    case kIndexType:
      return module->NewType(MlirTypeKind::kIndex);
    case kFunctionType: {
      MlirType* type = module->NewType(MlirTypeKind::kFunction);
      type->elements = reader.Types();
      type->results = reader.Types();
      return type;
    }
    case kF80Type:
      return reader.OtherType("f80");
    case kF128Type:
      return reader.OtherType("f128");
    case kComplexType:
      return reader.ComplexType();
    case kNoneType:
      return module->NewType(MlirTypeKind::kNone);
    case kRankedTensorType:
    case kRankedTensorWithEncodingType:
      return TensorType(reader, code == kRankedTensorWithEncodingType);
    case kTupleType: {
      MlirType* type = module->NewType(MlirTypeKind::kTuple);
      type->elements = reader.Types();
      return type;
    }
    case kUnrankedTensorType: {
      const MlirType* element = reader.Type();
      if (element == nullptr) return nullptr;
      MlirType* type = module->NewType(MlirTypeKind::kUnranked);
      type->elements.push_back(element);
      return type;
    }
    default:
      reader.Fail(absl::StrCat("builtin type code ", code));
      return nullptr;
  }
}

}  // namespace shoal

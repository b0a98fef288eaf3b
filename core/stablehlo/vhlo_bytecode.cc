// The vhlo dialect: StableHLO with versions. The numbers are those of StableHLO 0.9 to 1.20; new ones are
// appended there and old ones never change.
#include "absl/strings/str_cat.h"
#include "core/stablehlo/dialect_bytecode.h"

namespace shoal {
namespace {

enum AttributeCode : uint64_t {
  kArray = 1,
  kBoolean = 2,
  kComparisonDirection = 3,
  kComparisonType = 4,
  kCustomCallApiVersion = 5,
  kDictionary = 6,
  kFftType = 7,
  kFloat = 8,
  kInteger = 9,
  kOutputOperandAlias = 10,
  kPrecision = 11,
  kRngAlgorithm = 12,
  kRngDistribution = 13,
  kString = 14,
  kTensor = 15,
  kTranspose = 16,
  kType = 17,
  kTypeExtensions = 18,
  kResultAccuracyMode = 19,
  kResultAccuracy = 20,
  kSubAxisInfo = 21,
  kAxisRef = 22,
  kReplicaGroupMeshAxes = 23,
  kMeshAxis = 24,
  kMesh = 25,
};

enum TypeCode : uint64_t {
  kComplexType = 1,
  kFunctionType = 8,
  kIndexType = 9,
  kRankedTensorType = 20,
  kRankedTensorWithEncodingType = 21,
  kTokenType = 22,
  kTupleType = 23,
  kUniformQuantizedType = 24,
  kUnrankedTensorType = 25,
  kWitnessType = 26,
  kUniformQuantizedPerAxisType = 30,
  kNoneType = 33,
  kTf32Type = 34,
  kF6E2M3FNType = 38,
  kF6E3M2FNType = 39,
  kRankedBufferType = 41,
  kFutureType = 42,
};

struct ScalarCode {
  uint64_t code;
  ElementType element;
};
constexpr ScalarCode kScalars[] = {
    {0, ElementType::kPred},        {2, ElementType::kBF16},
    {3, ElementType::kF16},         {4, ElementType::kF32},
    {5, ElementType::kF64},         {6, ElementType::kF8E4M3FN},
    {7, ElementType::kF8E5M2},      {10, ElementType::kS4},
    {11, ElementType::kS8},         {12, ElementType::kS16},
    {13, ElementType::kS32},        {14, ElementType::kS64},
    {15, ElementType::kU4},         {16, ElementType::kU8},
    {17, ElementType::kU16},        {18, ElementType::kU32},
    {19, ElementType::kU64},        {27, ElementType::kF8E4M3FNUZ},
    {28, ElementType::kF8E5M2FNUZ}, {29, ElementType::kF8E4M3B11FNUZ},
    {31, ElementType::kS2},         {32, ElementType::kU2},
    {35, ElementType::kF8E4M3},     {36, ElementType::kF8E3M4},
    {37, ElementType::kF4E2M1FN},   {40, ElementType::kF8E8M0FNU},
};

// The words of each enumeration, by number, in the order of AttributeCode.
struct EnumWords {
  uint64_t code;
  std::initializer_list<absl::string_view> words;
};
const EnumWords kEnums[] = {
    {kComparisonDirection, {"EQ", "NE", "GE", "GT", "LE", "LT"}},
    {kComparisonType, {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"}},
    {kCustomCallApiVersion,
     {"API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
      "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"}},
    {kFftType, {"FFT", "IFFT", "RFFT", "IRFFT"}},
    {kPrecision, {"DEFAULT", "HIGH", "HIGHEST"}},
    {kRngAlgorithm, {"DEFAULT", "THREE_FRY", "PHILOX"}},
    {kRngDistribution, {"", "UNIFORM", "NORMAL"}},
    {kTranspose, {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}},
    {kResultAccuracyMode, {"DEFAULT", "HIGHEST", "TOLERANCE"}},
};

MlirAttribute* Enumeration(EntryReader& reader, uint64_t code) {
  for (const EnumWords& row : kEnums) {
    if (row.code != code) continue;
    const uint64_t value = reader.VarInt();
    if (value >= row.words.size() || row.words.begin()[value].empty()) break;
    MlirAttribute* attribute = reader.module()->NewAttribute(MlirAttributeKind::kEnum);
    attribute->text = row.words.begin()[value];
    return attribute;
  }
  reader.Fail("a keyword that StableHLO does not have");
  return nullptr;
}

MlirAttribute* Boolean(EntryReader& reader) {
  MlirAttribute* attribute = reader.module()->NewAttribute(MlirAttributeKind::kBool);
  const uint64_t value = reader.VarInt();
  if (value > 1) reader.Fail(absl::StrCat("a boolean of value ", value));
  attribute->integer = static_cast<int64_t>(value);
  return attribute;
}

MlirAttribute* AxisRef(EntryReader& reader) {
  RecordReader record(&reader, "stablehlo.axis_ref");
  record.Attribute("name");
  if (reader.VarInt() != 0) record.Attribute("sub_axis_info");
  return record.record();
}

MlirAttribute* Record(EntryReader& reader, uint64_t code) {
  switch (code) {
    case kOutputOperandAlias:
      return RecordReader(&reader, "stablehlo.output_operand_alias")
          .Integers("output_tuple_indices")
          .Integer("operand_index")
          .Integers("operand_tuple_indices")
          .record();
    case kTypeExtensions:
      return RecordReader(&reader, "stablehlo.bounds").Integers("bounds").record();
    case kResultAccuracy:
      return RecordReader(&reader, "stablehlo.result_accuracy")
          .Double("atol")
          .Double("rtol")
          .Integer("ulps")
          .Attribute("mode")
          .record();
    case kSubAxisInfo:
      return RecordReader(&reader, "stablehlo.sub_axis_info").Integer("pre_size").Integer("size").record();
    case kAxisRef:
      return AxisRef(reader);
    case kReplicaGroupMeshAxes:
      return RecordReader(&reader, "stablehlo.replica_group_mesh_axes")
          .Attribute("mesh")
          .Attribute("axes")
          .record();
    case kMeshAxis:
      return RecordReader(&reader, "stablehlo.mesh_axis").Attribute("name").Integer("size").record();
    default:  // kMesh
      return RecordReader(&reader, "stablehlo.mesh")
          .Attribute("axes")
          .OptionalAttribute("device_ids")
          .record();
  }
}

MlirType* ArrayType(EntryReader& reader, uint64_t code) {
  MlirType* type =
      reader.module()->NewType(code == kUnrankedTensorType ? MlirTypeKind::kUnranked : MlirTypeKind::kTensor);
  if (code == kRankedTensorWithEncodingType) type->encoding = reader.Attribute();
  if (code != kUnrankedTensorType) {
    for (int64_t dim : reader.SignedVarInts()) type->dims.push_back(dim);
  }
  const MlirType* element = reader.Type();
  if (element == nullptr) return nullptr;
  type->elements.push_back(element);
  return type;
}

// The sign of the storage type stands in a flag.
MlirType* Quantized(EntryReader& reader, bool per_axis) {
  constexpr uint64_t kSigned = 1;
  MlirQuantization q;
  const bool is_signed = (reader.VarInt() & kSigned) != 0;
  const MlirType* storage = reader.Type();
  const MlirType* expressed = reader.Type();
  if (storage == nullptr || expressed == nullptr) return nullptr;
  const int width = BitWidth(storage->element);
  q.storage = ParseMlirType(absl::StrCat(is_signed ? "i" : "ui", width)).value_or(ElementType::kToken);
  q.expressed = expressed->element;
  const auto read_scale = [&] { q.scales.push_back(reader.Double()); };
  const auto read_zero = [&] { q.zero_points.push_back(static_cast<double>(reader.SignedVarInt())); };
  if (!per_axis) {
    read_scale();
    read_zero();
  } else {
    q.axis = static_cast<int64_t>(std::min<uint64_t>(reader.VarInt(), INT32_MAX));
  }
  q.storage_min = static_cast<double>(reader.SignedVarInt());
  q.storage_max = static_cast<double>(reader.SignedVarInt());
  if (per_axis) {
    const size_t scales = reader.bytes().Count();
    for (size_t i = 0; i < scales && reader.ok(); ++i) read_scale();
    const size_t zeros = reader.bytes().Count();
    for (size_t i = 0; i < zeros && reader.ok(); ++i) read_zero();
  }
  if (!reader.ok()) return nullptr;
  absl::StatusOr<MlirType*> type = reader.module()->NewQuantized(std::move(q));
  if (type.ok()) return *type;
  reader.Fail(type.status().message());
  return nullptr;
}

MlirType* FutureType(EntryReader& reader) {
  MlirType* type = reader.module()->NewType(MlirTypeKind::kFuture);
  type->elements = reader.Types();
  return type;
}

}  // namespace

MlirAttribute* ReadVhloAttribute(EntryReader& reader) {
  const uint64_t code = reader.VarInt();
  MlirModule* module = reader.module();
  switch (code) {
    case kArray: {
      MlirAttribute* attribute = module->NewAttribute(MlirAttributeKind::kArray);
      attribute->elements = reader.Attributes();
      return attribute;
    }
    case kBoolean:
      return Boolean(reader);
    case kComparisonDirection:
    case kComparisonType:
    case kCustomCallApiVersion:
    case kFftType:
    case kPrecision:
    case kRngAlgorithm:
    case kRngDistribution:
    case kTranspose:
    case kResultAccuracyMode:
      return Enumeration(reader, code);
    case kDictionary:
      return reader.Dictionary();
    case kFloat:
    case kInteger:
      return reader.Number(reader.Type());
    case kString: {
      MlirAttribute* attribute = module->NewAttribute(MlirAttributeKind::kString);
      attribute->text = reader.String();
      return attribute;
    }
    case kTensor: {
      const MlirType* type = reader.Type();
      return reader.DenseElements(type, reader.Blob());
    }
    case kType: {
      MlirAttribute* attribute = module->NewAttribute(MlirAttributeKind::kType);
      attribute->type = reader.Type();
      return attribute;
    }
    case kOutputOperandAlias:
    case kTypeExtensions:
    case kResultAccuracy:
    case kSubAxisInfo:
    case kAxisRef:
    case kReplicaGroupMeshAxes:
    case kMeshAxis:
    case kMesh:
      return Record(reader, code);
    default:
      reader.Fail(absl::StrCat("vhlo attribute code ", code));
      return nullptr;
  }
}

MlirType* ReadVhloType(EntryReader& reader) {
  const uint64_t code = reader.VarInt();
  MlirModule* module = reader.module();
  for (const ScalarCode& row : kScalars) {
    if (row.code == code) return reader.ScalarType(row.element);
  }
  switch (code) {
    case kComplexType:
      return reader.ComplexType();
    case kFunctionType: {
      MlirType* type = module->NewType(MlirTypeKind::kFunction);
      type->elements = reader.Types();
      type->results = reader.Types();
      return type;
    }
    case kIndexType:
      return module->NewType(MlirTypeKind::kIndex);
    case kRankedTensorType:
    case kRankedTensorWithEncodingType:
    case kUnrankedTensorType:
      return ArrayType(reader, code);
    case kTokenType:
      return module->NewType(MlirTypeKind::kToken);
    case kTupleType: {
      MlirType* type = module->NewType(MlirTypeKind::kTuple);
      type->elements = reader.Types();
      return type;
    }
    case kUniformQuantizedType:
    case kUniformQuantizedPerAxisType:
      return Quantized(reader, code == kUniformQuantizedPerAxisType);
    case kWitnessType:
      return reader.OtherType("shape.witness");
    case kNoneType:
      return module->NewType(MlirTypeKind::kNone);
    case kTf32Type:
      return reader.OtherType("tf32");
    case kF6E2M3FNType:
      return reader.OtherType("f6E2M3FN");
    case kF6E3M2FNType:
      return reader.OtherType("f6E3M2FN");
    case kRankedBufferType:
      reader.SignedVarInts();
      reader.Type();
      return reader.OtherType("memref");
    case kFutureType:
      return FutureType(reader);
    default:
      reader.Fail(absl::StrCat("vhlo type code ", code));
      return nullptr;
  }
}

MlirType* ReadStablehloType(EntryReader& reader) {
  // StablehloBytecode.cpp's TypeCode.
  const uint64_t code = reader.VarInt();
  if (code == 0) return reader.module()->NewType(MlirTypeKind::kToken);
  if (code == 1) return FutureType(reader);
  reader.Fail(absl::StrCat("stablehlo type code ", code));
  return nullptr;
}

}  // namespace shoal

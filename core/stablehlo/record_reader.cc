#include "core/stablehlo/dialect_bytecode.h"

namespace shoal {

RecordReader::RecordReader(EntryReader* reader, absl::string_view name)
    : reader_(*reader), record_(reader->module()->NewAttribute(MlirAttributeKind::kRecord)) {
  record_->text = name;
}

RecordReader& RecordReader::Put(absl::string_view name, const MlirAttribute* value) {
  if (value != nullptr) record_->entries.push_back({name, value});
  return *this;
}

MlirAttribute* RecordReader::NewInteger(int64_t value) {
  MlirAttribute* attribute = New(MlirAttributeKind::kInteger);
  attribute->type = reader_.module()->Scalar(ElementType::kS64);
  attribute->integer = value;
  return attribute;
}

RecordReader& RecordReader::Text(absl::string_view name) {
  MlirAttribute* value = New(MlirAttributeKind::kString);
  value->text = reader_.String();
  return Put(name, value);
}

RecordReader& RecordReader::Integer(absl::string_view name) {
  return Put(name, NewInteger(reader_.SignedVarInt()));
}

RecordReader& RecordReader::OptionalCount(absl::string_view name) {
  bool present = false;
  const uint64_t number = reader_.bytes().VarIntWithFlag(&present);
  return present ? Put(name, NewInteger(static_cast<int64_t>(number))) : *this;
}

RecordReader& RecordReader::Bool(absl::string_view name) {
  MlirAttribute* value = New(MlirAttributeKind::kBool);
  value->integer = reader_.bytes().Byte() != 0;
  return Put(name, value);
}

RecordReader& RecordReader::Double(absl::string_view name) {
  MlirAttribute* value = New(MlirAttributeKind::kFloat);
  value->type = reader_.module()->Scalar(ElementType::kF64);
  value->number = reader_.Double();
  return Put(name, value);
}

RecordReader& RecordReader::Integers(absl::string_view name) {
  MlirAttribute* value = New(MlirAttributeKind::kDenseArray);
  value->type = reader_.module()->Scalar(ElementType::kS64);
  value->ints = reader_.SignedVarInts();
  return Put(name, value);
}

RecordReader& RecordReader::Attribute(absl::string_view name) { return Put(name, reader_.Attribute()); }

RecordReader& RecordReader::OptionalAttribute(absl::string_view name) {
  return Put(name, reader_.OptionalAttribute());
}

RecordReader& RecordReader::Attributes(absl::string_view name) {
  MlirAttribute* value = New(MlirAttributeKind::kArray);
  value->elements = reader_.Attributes();
  return Put(name, value);
}

}  // namespace shoal

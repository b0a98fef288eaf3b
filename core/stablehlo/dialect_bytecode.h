// The dialects' own encodings of attributes and types in MLIR bytecode.
//
// Each function decodes one entry of the attribute or type table, which begins with the dialect's code, and
// returns the node, or null after a failure that it (or what it called) reported to the reader.
#pragma once

#include "absl/strings/string_view.h"
#include "core/stablehlo/bytecode_tables.h"
#include "core/stablehlo/mlir_ir.h"

namespace shoal {

// The bytes of one entry with the tables behind it.
class EntryReader {
 public:
  EntryReader(BytecodeTables* tables, ByteReader bytes) : tables_(tables), bytes_(bytes) {}

  bool ok() const { return bytes_.ok(); }
  void Fail(absl::string_view what) { bytes_.Fail(what); }
  MlirModule* module() { return tables_->module(); }
  ByteReader& bytes() { return bytes_; }

  uint64_t VarInt() { return bytes_.VarInt(); }
  int64_t SignedVarInt() { return bytes_.SignedVarInt(); }
  absl::string_view String() { return tables_->String(bytes_); }
  absl::string_view Blob() { return bytes_.Bytes(bytes_.VarInt()); }
  const MlirAttribute* Attribute() { return tables_->Attribute(bytes_); }
  const MlirAttribute* OptionalAttribute();  // null if absent
  const MlirType* Type() { return tables_->Type(bytes_); }
  const BytecodeTables::Resource* Resource() { return tables_->ResourceHandle(bytes_); }
  std::vector<const MlirAttribute*> Attributes();
  std::vector<const MlirType*> Types();
  std::vector<int64_t> SignedVarInts();
  // An attribute that has text: a string, or a symbol.
  absl::string_view TextAttribute();
  // The value of an integer or float attribute of type `type`, whose width says how it is written.
  MlirAttribute* Number(const MlirType* type);
  double Double();  // an f64
  // (name, value) pairs.
  MlirAttribute* Dictionary();
  MlirType* ScalarType(ElementType element);
  MlirType* ComplexType();  // of the float type that comes next
  MlirType* OtherType(absl::string_view name);
  // A constant: the tensor type and its bytes, unpacked to a byte an element if they are bits.
  MlirAttribute* DenseElements(const MlirType* type, absl::string_view blob);

 private:
  BytecodeTables* tables_;
  ByteReader bytes_;
};

// Reads the parameters of one record in order.
class RecordReader {
 public:
  RecordReader(EntryReader* reader, absl::string_view name);
  RecordReader& Text(absl::string_view name);     // a string of the string table
  RecordReader& Integer(absl::string_view name);  // signed
  RecordReader& OptionalCount(absl::string_view name);
  RecordReader& Bool(absl::string_view name);
  RecordReader& Double(absl::string_view name);
  RecordReader& Integers(absl::string_view name);
  RecordReader& Attribute(absl::string_view name);
  RecordReader& OptionalAttribute(absl::string_view name);
  RecordReader& Attributes(absl::string_view name);
  MlirAttribute* record() { return record_; }

 private:
  MlirAttribute* New(MlirAttributeKind kind) { return reader_.module()->NewAttribute(kind); }
  MlirAttribute* NewInteger(int64_t value);
  RecordReader& Put(absl::string_view name, const MlirAttribute* value);

  EntryReader& reader_;
  MlirAttribute* record_;
};

MlirAttribute* ReadBuiltinAttribute(EntryReader& reader);
MlirType* ReadBuiltinType(EntryReader& reader);
MlirAttribute* ReadVhloAttribute(EntryReader& reader);
MlirType* ReadVhloType(EntryReader& reader);
MlirAttribute* ReadSdyAttribute(EntryReader& reader);
// Of StableHLO itself, which sdy's operations keep.
MlirType* ReadStablehloType(EntryReader& reader);

}  // namespace shoal

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
  // A constant: the tensor type and its bytes, unpacked to a byte an element if they are bits.
  MlirAttribute* DenseElements(const MlirType* type, absl::string_view blob);

 private:
  BytecodeTables* tables_;
  ByteReader bytes_;
};

MlirAttribute* ReadBuiltinAttribute(EntryReader& reader);
MlirType* ReadBuiltinType(EntryReader& reader);
MlirAttribute* ReadVhloAttribute(EntryReader& reader);
MlirType* ReadVhloType(EntryReader& reader);
MlirAttribute* ReadSdyAttribute(EntryReader& reader);

}  // namespace shoal

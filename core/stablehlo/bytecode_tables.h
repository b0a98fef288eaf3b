// BytecodeTables: what the IR section of MLIR bytecode refers to by number: strings, dialects, operation
// names, attributes, types, properties, resources.
//
// Attributes and types are decoded when first asked for, and once. A reference to an entry that is itself
// being decoded, nesting beyond kMaxNesting and trees beyond kMaxWeight nodes are failures. Failures go to
// the ReadFailure.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/stablehlo/byte_reader.h"
#include "core/stablehlo/mlir_ir.h"

namespace shoal {

// Bytecode versions at which the encoding changed.
inline constexpr uint64_t kDialectVersioning = 1;
inline constexpr uint64_t kLazyRegions = 2;
inline constexpr uint64_t kUseListOrders = 3;
inline constexpr uint64_t kElidedBlockArgumentLocations = 4;
inline constexpr uint64_t kNativeProperties = 5;
inline constexpr uint64_t kNewestBytecode = 6;

inline constexpr int kMaxNesting = 256;
inline constexpr uint32_t kMaxWeight = 1 << 22;

class BytecodeTables {
 public:
  struct OpName {
    absl::string_view full;  // "vhlo.add_v1", as written
    absl::string_view name;  // "stablehlo.add"
    int version = 0;
    bool registered = false;
    absl::string_view properties;  // see PropertyNames
  };
  struct Resource {
    absl::string_view key;
    absl::string_view bytes;
  };

  BytecodeTables(MlirModule* module, ReadFailure* failure) : module_(module), failure_(failure) {}

  void ReadStrings(ByteReader section);
  void ReadDialects(ByteReader section, uint64_t version);
  void ReadResources(ByteReader data, ByteReader offsets);
  void ReadAttributeOffsets(ByteReader data, ByteReader offsets);
  void ReadProperties(ByteReader section);

  // Each takes its number from `reader`, at whose place a failure is reported, and is null or empty after
  // one.
  absl::string_view String(ByteReader& reader);
  const OpName* Operation(ByteReader& reader);
  const MlirAttribute* Attribute(ByteReader& reader) { return AttributeAt(reader.VarInt(), reader); }
  const MlirType* Type(ByteReader& reader) { return TypeAt(reader.VarInt(), reader); }
  const Resource* ResourceHandle(ByteReader& reader);
  const MlirAttribute* AttributeAt(uint64_t index, ByteReader& reader);
  const MlirType* TypeAt(uint64_t index, ByteReader& reader);
  // The properties numbered by `reader`'s next integer, as attributes behind `attributes`.
  void Properties(ByteReader& reader, const OpName& op, std::vector<MlirNamedAttribute>* attributes);

  MlirModule* module() { return module_; }

 private:
  template <typename T>
  struct Entry {
    const T* node = nullptr;
    bool decoding = false;
    bool custom = false;  // the dialect's own encoding, otherwise MLIR text
    absl::string_view dialect;
    size_t begin = 0, size = 0;
  };

  absl::string_view StringAt(uint64_t index, ByteReader& reader);
  absl::string_view Dialect(ByteReader& reader);
  void AddOpName(absl::string_view dialect, absl::string_view name, bool registered);
  template <typename T>
  void ReadOffsets(std::vector<Entry<T>>& entries, ByteReader& offsets, size_t* position);
  template <typename T>
  const T* Resolve(std::vector<Entry<T>>& entries, uint64_t index, ByteReader& reader);
  template <typename T>
  T* Decode(const Entry<T>& entry, ByteReader bytes);

  MlirModule* module_;
  ReadFailure* failure_;
  int nesting_ = 0;
  std::vector<absl::string_view> strings_;
  std::vector<absl::string_view> dialects_;
  std::vector<OpName> op_names_;
  std::vector<Resource> resources_;
  ByteReader entry_data_{absl::string_view(), failure_};
  std::vector<Entry<MlirAttribute>> attributes_;
  std::vector<Entry<MlirType>> types_;
  std::vector<ByteReader> properties_;
};

}  // namespace shoal

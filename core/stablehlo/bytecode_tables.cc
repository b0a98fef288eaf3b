#include "core/stablehlo/bytecode_tables.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/stablehlo/dialect_bytecode.h"
#include "core/stablehlo/op_properties.h"
#include "core/stablehlo/text_reader.h"

namespace shoal {
namespace {

// The functions that vhlo takes over from the func dialect go back to it.
absl::string_view FuncName(absl::string_view base) {
  if (base == "func") return "func.func";
  if (base == "call") return "func.call";
  return {};
}

}  // namespace

// The count, the sizes of the strings (each with its terminating zero) from the last to the first, then the
// strings.
void BytecodeTables::ReadStrings(ByteReader section) {
  const size_t base = section.offset();
  const size_t total = section.remaining();
  ByteReader whole = section;
  const size_t count = section.Count();
  std::vector<size_t> sizes(count);
  size_t sum = 0;
  for (size_t i = count; i-- > 0;) {
    sizes[i] = section.Count();
    if (sizes[i] == 0) section.Fail("a string without its terminating zero");
    sum += sizes[i];
  }
  if (section.ok() && section.remaining() != sum) section.Fail("the strings do not fill their section");
  if (!section.ok()) return;
  size_t position = base + total - sum;
  for (size_t i = 0; i < count; ++i) {
    strings_.push_back(whole.At(position, sizes[i]).Bytes(sizes[i] - 1));
    position += sizes[i];
  }
}

absl::string_view BytecodeTables::StringAt(uint64_t index, ByteReader& reader) {
  if (reader.ok() && index < strings_.size()) return strings_[index];
  reader.Fail(absl::StrCat("string ", index, " of ", strings_.size()));
  return {};
}

absl::string_view BytecodeTables::String(ByteReader& reader) { return StringAt(reader.VarInt(), reader); }

absl::string_view BytecodeTables::Dialect(ByteReader& reader) {
  const uint64_t index = reader.VarInt();
  if (reader.ok() && index < dialects_.size()) return dialects_[index];
  reader.Fail(absl::StrCat("dialect ", index, " of ", dialects_.size()));
  return {};
}

void BytecodeTables::ReadDialects(ByteReader section, uint64_t version) {
  const size_t count = section.Count();
  for (size_t i = 0; i < count && section.ok(); ++i) {
    if (version < kDialectVersioning) {
      dialects_.push_back(String(section));
      continue;
    }
    bool has_version = false;
    const uint64_t name = section.VarIntWithFlag(&has_version);
    dialects_.push_back(StringAt(name, section));
    uint8_t id = 0;
    // The dialect's version decides nothing here: every encoding that changed has its own code.
    if (has_version) section.Section(&id);
  }
  if (version >= kElidedBlockArgumentLocations) section.VarInt();  // the number of operation names, a hint
  while (!section.empty()) {
    const absl::string_view dialect = Dialect(section);
    const size_t names = section.Count();
    for (size_t i = 0; i < names && section.ok(); ++i) {
      bool registered = true;
      const uint64_t name =
          version < kNativeProperties ? section.VarInt() : section.VarIntWithFlag(&registered);
      AddOpName(dialect, StringAt(name, section), registered);
    }
  }
}

void BytecodeTables::AddOpName(absl::string_view dialect, absl::string_view name, bool registered) {
  OpName& op = op_names_.emplace_back();
  op.full = module_->Keep(name.empty() ? std::string(dialect) : absl::StrCat(dialect, ".", name));
  op.name = op.full;
  op.registered = registered;
  op.properties = PropertyNames(op.full);
  const size_t suffix = name.rfind("_v");
  int version = 0;
  if (dialect != "vhlo" || suffix == absl::string_view::npos) return;
  if (!absl::SimpleAtoi(name.substr(suffix + 2), &version)) return;
  op.version = version;
  const absl::string_view base = name.substr(0, suffix);
  const absl::string_view func = FuncName(base);
  op.name = func.empty() ? module_->Keep(absl::StrCat("stablehlo.", base)) : func;
}

const BytecodeTables::OpName* BytecodeTables::Operation(ByteReader& reader) {
  const uint64_t index = reader.VarInt();
  if (reader.ok() && index < op_names_.size()) return &op_names_[index];
  reader.Fail(absl::StrCat("operation name ", index, " of ", op_names_.size()));
  return nullptr;
}

// Two groups of resources, those of outside tools and those of dialects; a resource's bytes follow one
// another in the data section. Only the dialects' can be referred to.
void BytecodeTables::ReadResources(ByteReader data, ByteReader offsets) {
  const size_t outside = offsets.Count();
  size_t group = 0;
  while (offsets.ok() && (group < outside || !offsets.empty())) {
    const bool referable = group++ >= outside;
    referable ? Dialect(offsets) : String(offsets);
    const size_t count = offsets.Count();
    for (size_t i = 0; i < count && offsets.ok(); ++i) {
      Resource resource;
      resource.key = String(offsets);
      const uint64_t size = offsets.VarInt();
      constexpr uint8_t kBlob = 0;
      const bool blob = offsets.Byte() == kBlob;
      ByteReader bytes = data.Sub(size);
      if (!referable) continue;
      if (blob && size > 0) {
        const uint64_t alignment = bytes.VarInt();
        const uint64_t length = bytes.VarInt();
        bytes.AlignTo(alignment);
        resource.bytes = bytes.Bytes(length);
      }
      resources_.push_back(resource);
    }
  }
}

const BytecodeTables::Resource* BytecodeTables::ResourceHandle(ByteReader& reader) {
  const uint64_t index = reader.VarInt();
  if (reader.ok() && index < resources_.size()) return &resources_[index];
  reader.Fail(absl::StrCat("resource ", index, " of ", resources_.size()));
  return nullptr;
}

template <typename T>
void BytecodeTables::ReadOffsets(std::vector<Entry<T>>& entries, ByteReader& offsets, size_t* position) {
  size_t next = 0;
  while (next < entries.size() && offsets.ok()) {
    const absl::string_view dialect = Dialect(offsets);
    const size_t count = offsets.Count();
    if (count > entries.size() - next) return offsets.Fail("more entries than were announced");
    for (size_t i = 0; i < count; ++i) {
      Entry<T>& entry = entries[next++];
      entry.dialect = dialect;
      entry.size = offsets.VarIntWithFlag(&entry.custom);
      entry.begin = *position;
      if (entry.size > entry_data_.offset() + entry_data_.remaining() - *position) {
        return offsets.Fail("an attribute or type reaches past its section");
      }
      *position += entry.size;
    }
  }
}

void BytecodeTables::ReadAttributeOffsets(ByteReader data, ByteReader offsets) {
  entry_data_ = data;
  const size_t attributes = offsets.Count();
  const size_t types = offsets.Count();
  attributes_.resize(attributes);
  types_.resize(types);
  size_t position = data.offset();
  ReadOffsets(attributes_, offsets, &position);
  ReadOffsets(types_, offsets, &position);
  if (offsets.ok() && !offsets.empty()) offsets.Fail("bytes are left over after the attribute offsets");
}

template <>
MlirAttribute* BytecodeTables::Decode(const Entry<MlirAttribute>& entry, ByteReader bytes) {
  if (!entry.custom) {
    absl::StatusOr<MlirAttribute*> parsed = ParseMlirAttributeText(bytes.NullTerminated(), module_);
    if (parsed.ok()) return *parsed;
    bytes.Fail(absl::StrCat("an attribute as text: ", parsed.status().message()));
    return nullptr;
  }
  EntryReader reader(this, bytes);
  MlirAttribute* attribute = nullptr;
  if (entry.dialect == "vhlo") {
    attribute = ReadVhloAttribute(reader);
  } else if (entry.dialect == "builtin") {
    attribute = ReadBuiltinAttribute(reader);
  } else if (entry.dialect == "sdy") {
    attribute = ReadSdyAttribute(reader);
  } else {
    bytes.Fail(
        absl::StrCat("an attribute of the dialect '", entry.dialect, "', whose encoding is not known,"));
  }
  if (reader.ok() && !reader.bytes().empty()) reader.Fail("bytes are left over after an attribute");
  return attribute;
}

template <>
MlirType* BytecodeTables::Decode(const Entry<MlirType>& entry, ByteReader bytes) {
  if (!entry.custom) {
    absl::StatusOr<MlirType*> parsed = ParseMlirTypeText(bytes.NullTerminated(), module_);
    if (parsed.ok()) return *parsed;
    bytes.Fail(absl::StrCat("a type as text: ", parsed.status().message()));
    return nullptr;
  }
  EntryReader reader(this, bytes);
  MlirType* type = nullptr;
  if (entry.dialect == "vhlo") {
    type = ReadVhloType(reader);
  } else if (entry.dialect == "builtin") {
    type = ReadBuiltinType(reader);
  } else if (entry.dialect == "stablehlo") {
    type = ReadStablehloType(reader);
  } else {
    bytes.Fail(absl::StrCat("a type of the dialect '", entry.dialect, "', whose encoding is not known,"));
  }
  if (reader.ok() && !reader.bytes().empty()) reader.Fail("bytes are left over after a type");
  return type;
}

template <typename T>
const T* BytecodeTables::Resolve(std::vector<Entry<T>>& entries, uint64_t index, ByteReader& reader) {
  if (!reader.ok()) return nullptr;
  if (index >= entries.size()) {
    reader.Fail(absl::StrCat("attribute or type ", index, " of ", entries.size()));
    return nullptr;
  }
  Entry<T>& entry = entries[index];
  if (entry.node != nullptr) return entry.node;
  if (entry.decoding) {
    reader.Fail("an attribute or type that contains itself");
    return nullptr;
  }
  if (nesting_ >= kMaxNesting) {
    reader.Fail(absl::StrCat("attributes or types nested more than ", kMaxNesting, " deep"));
    return nullptr;
  }
  entry.decoding = true;
  ++nesting_;
  T* node = Decode(entry, entry_data_.At(entry.begin, entry.size));
  --nesting_;
  entry.decoding = false;
  if (!reader.ok() || node == nullptr) {
    reader.Fail("an attribute or type that cannot be read");
    return nullptr;
  }
  node->weight = TreeWeight(*node);
  if (node->weight > kMaxWeight) {
    reader.Fail(absl::StrCat("an attribute or type of more than ", kMaxWeight, " parts"));
    return nullptr;
  }
  entry.node = node;
  return node;
}

const MlirAttribute* BytecodeTables::AttributeAt(uint64_t index, ByteReader& reader) {
  return Resolve(attributes_, index, reader);
}

const MlirType* BytecodeTables::TypeAt(uint64_t index, ByteReader& reader) {
  return Resolve(types_, index, reader);
}

void BytecodeTables::ReadProperties(ByteReader section) {
  const size_t count = section.Count();
  for (size_t i = 0; i < count && section.ok(); ++i) properties_.push_back(section.Sub(section.VarInt()));
  if (section.ok() && !section.empty()) section.Fail("bytes are left over after the properties");
}

void BytecodeTables::Properties(ByteReader& reader, const OpName& op,
                                std::vector<MlirNamedAttribute>* attributes) {
  const uint64_t index = reader.VarInt();
  if (!reader.ok()) return;
  if (index >= properties_.size())
    return reader.Fail(absl::StrCat("properties ", index, " of ", properties_.size()));
  ByteReader bytes = properties_[index];
  if (!op.registered) {
    // The writer did not know the operation, and wrote its properties as one dictionary.
    const MlirAttribute* dictionary = Attribute(bytes);
    if (dictionary == nullptr) return;
    attributes->insert(attributes->end(), dictionary->entries.begin(), dictionary->entries.end());
    return;
  }
  if (op.properties.empty())
    return reader.Fail(absl::StrCat("properties of '", op.full, "', which are not known,"));
  for (absl::string_view name : absl::StrSplit(op.properties, ' ')) {
    bool present = true;
    const bool optional = name.back() == '?';
    if (optional) name.remove_suffix(1);
    const uint64_t number = optional ? bytes.VarIntWithFlag(&present) : bytes.VarInt();
    if (!present) continue;
    const MlirAttribute* value = AttributeAt(number, bytes);
    if (value == nullptr) return;
    attributes->push_back({name, value});
  }
  if (bytes.ok() && !bytes.empty())
    bytes.Fail(absl::StrCat("bytes are left over after the properties of '", op.full, "'"));
}

}  // namespace shoal

#include "core/stablehlo/bytecode_reader.h"

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/stablehlo/byte_reader.h"
#include "core/stablehlo/bytecode_tables.h"

namespace shoal {
namespace {

constexpr absl::string_view kMagic = "ML\xEFR";

enum SectionId : uint8_t {
  kStrings = 0,
  kDialects = 1,
  kAttributesAndTypes = 2,
  kAttributeOffsets = 3,
  kIr = 4,
  kResources = 5,
  kResourceOffsets = 6,
  kDialectVersions = 7,
  kProperties = 8,
  kSectionCount = 9,
};

// What an operation has, as bits of its second byte.
enum OperationBits : uint8_t {
  kHasAttributes = 1,
  kHasResults = 2,
  kHasOperands = 4,
  kHasSuccessors = 8,
  kHasRegions = 16,
  kHasUseListOrders = 32,
  kHasProperties = 64,
};

// Reads the IR section. Values are numbered within a scope: an isolated operation begins a new one; each
// region takes the numbers after those of the regions around it, and gives them back at its end. An operand
// may come before the value it names (blocks in any order); then a place is held for it.
class IrReader {
 public:
  IrReader(BytecodeTables* tables, uint64_t version)
      : tables_(*tables), module_(*tables->module()), version_(version) {}

  // The section holds one block, whose operation is the module.
  MlirOperation* ReadTop(ByteReader section) {
    MlirBlock* block = module_.NewBlock();
    scopes_.emplace_back();
    ReadBlock(section, block, {block}, 0);
    if (!section.ok()) return nullptr;
    if (block->operations.size() != 1 || block->operations[0]->name != "builtin.module") {
      section.Fail("the program is not one builtin.module");
      return nullptr;
    }
    if (!section.empty()) section.Fail("bytes are left over after the program");
    return block->operations[0];
  }

 private:
  struct Scope {
    std::vector<MlirValue*> values;
    std::vector<size_t> next;  // of each open region, the number of the value it defines next
  };

  void ReadRegion(ByteReader& reader, MlirRegion* region, int depth);
  void ReadBlock(ByteReader& reader, MlirBlock* block, const std::vector<MlirBlock*>& blocks, int depth);
  void ReadBlockArguments(ByteReader& reader, MlirBlock* block);
  void ReadOperation(ByteReader& reader, MlirBlock* block, const std::vector<MlirBlock*>& blocks, int depth);
  void ReadRegions(ByteReader& reader, MlirOperation* operation, int depth);
  MlirValue* ReadOperand(ByteReader& reader);
  void SkipUseListOrders(ByteReader& reader, size_t values);
  // A value of this type under the next number of the innermost region; fills the place held for it, if any.
  MlirValue* Define(ByteReader& reader, const MlirType* type, uint32_t index);

  BytecodeTables& tables_;
  MlirModule& module_;
  const uint64_t version_;
  std::vector<Scope> scopes_;
};

MlirValue* IrReader::Define(ByteReader& reader, const MlirType* type, uint32_t index) {
  Scope& scope = scopes_.back();
  // The values of the outermost block are never referred to, and have no numbers.
  if (scope.next.empty()) return module_.NewValue(type, index);
  size_t& next = scope.next.back();
  if (next >= scope.values.size()) {
    reader.Fail("a region defines more values than it announced");
    return module_.NewValue(type, index);
  }
  MlirValue*& slot = scope.values[next++];
  if (slot == nullptr) slot = module_.NewValue(type, index);
  slot->type = type;
  slot->index = index;
  return slot;
}

MlirValue* IrReader::ReadOperand(ByteReader& reader) {
  Scope& scope = scopes_.back();
  const uint64_t number = reader.VarInt();
  if (!reader.ok() || number >= scope.values.size()) {
    reader.Fail(absl::StrCat("value ", number, " of ", scope.values.size()));
    return nullptr;
  }
  MlirValue*& slot = scope.values[number];
  if (slot == nullptr) slot = module_.NewValue(nullptr, 0);
  return slot;
}

void IrReader::ReadRegion(ByteReader& reader, MlirRegion* region, int depth) {
  const size_t count = reader.Count();
  if (count == 0) return;
  const size_t values = reader.Count();
  for (size_t i = 0; i < count; ++i) region->blocks.push_back(module_.NewBlock());
  {
    Scope& scope = scopes_.back();
    scope.next.push_back(scope.values.size());
    scope.values.resize(scope.values.size() + values);
  }
  for (MlirBlock* block : region->blocks) {
    if (!reader.ok()) return;
    ReadBlock(reader, block, region->blocks, depth);
  }
  Scope& scope = scopes_.back();
  const size_t kept = scope.values.size() - values;
  for (size_t i = kept; i < scope.values.size() && reader.ok(); ++i) {
    if (scope.values[i] != nullptr && scope.values[i]->type == nullptr)
      reader.Fail("an operand that nothing defines");
  }
  scope.values.resize(kept);
  scope.next.pop_back();
}

void IrReader::ReadBlock(ByteReader& reader, MlirBlock* block, const std::vector<MlirBlock*>& blocks,
                         int depth) {
  bool has_arguments = false;
  const uint64_t operations = reader.VarIntWithFlag(&has_arguments);
  if (operations > reader.remaining())
    return reader.Fail(absl::StrCat("a block of ", operations, " operations"));
  if (has_arguments) ReadBlockArguments(reader, block);
  for (uint64_t i = 0; i < operations && reader.ok(); ++i) ReadOperation(reader, block, blocks, depth);
}

void IrReader::ReadBlockArguments(ByteReader& reader, MlirBlock* block) {
  const size_t count = reader.Count();
  for (size_t i = 0; i < count && reader.ok(); ++i) {
    const MlirType* type = nullptr;
    bool has_location = true;
    if (version_ < kElidedBlockArgumentLocations) {
      type = tables_.Type(reader);
    } else {
      type = tables_.TypeAt(reader.VarIntWithFlag(&has_location), reader);
    }
    const MlirAttribute* location = has_location ? tables_.Attribute(reader) : nullptr;
    if (!reader.ok()) return;
    MlirValue* value = Define(reader, type, static_cast<uint32_t>(i));
    value->block = block;
    value->location = location;
    block->arguments.push_back(value);
  }
  if (version_ >= kUseListOrders && reader.Byte() != 0) SkipUseListOrders(reader, count);
}

// The order of a value's users is of no use here. One list a value: count with a flag, then the numbers; with
// more than one value, how many lists there are and which value each is of.
void IrReader::SkipUseListOrders(ByteReader& reader, size_t values) {
  const size_t lists = values > 1 ? reader.Count() : 1;
  for (size_t i = 0; i < lists && reader.ok(); ++i) {
    if (values > 1) reader.VarInt();
    bool pairs = false;
    const uint64_t count = reader.VarIntWithFlag(&pairs);
    for (uint64_t j = 0; j < count && reader.ok(); ++j) reader.VarInt();
  }
}

void IrReader::ReadOperation(ByteReader& reader, MlirBlock* block, const std::vector<MlirBlock*>& blocks,
                             int depth) {
  MlirOperation* operation = module_.NewOperation();
  operation->offset = reader.offset();
  const BytecodeTables::OpName* name = tables_.Operation(reader);
  const uint8_t bits = reader.Byte();
  operation->location = tables_.Attribute(reader);
  if (!reader.ok()) return;
  operation->name = name->name;
  operation->version = name->version;
  block->operations.push_back(operation);
  if (bits & kHasAttributes) {
    const MlirAttribute* dictionary = tables_.Attribute(reader);
    if (dictionary != nullptr) operation->attributes = dictionary->entries;
  }
  if (bits & kHasProperties) tables_.Properties(reader, *name, &operation->attributes);
  const size_t results = bits & kHasResults ? reader.Count() : 0;
  std::vector<const MlirType*> types;
  for (size_t i = 0; i < results && reader.ok(); ++i) types.push_back(tables_.Type(reader));
  const size_t operands = bits & kHasOperands ? reader.Count() : 0;
  for (size_t i = 0; i < operands && reader.ok(); ++i) operation->operands.push_back(ReadOperand(reader));
  const size_t successors = bits & kHasSuccessors ? reader.Count() : 0;
  for (size_t i = 0; i < successors && reader.ok(); ++i) {
    const uint64_t index = reader.VarInt();
    if (index >= blocks.size()) return reader.Fail(absl::StrCat("block ", index, " of ", blocks.size()));
    operation->successors.push_back(blocks[index]);
  }
  if (version_ >= kUseListOrders && (bits & kHasUseListOrders)) SkipUseListOrders(reader, results);
  bool isolated = false;
  const uint64_t regions = bits & kHasRegions ? reader.VarIntWithFlag(&isolated) : 0;
  if (!reader.ok()) return;
  if (regions > reader.remaining()) return reader.Fail(absl::StrCat("an operation of ", regions, " regions"));
  for (size_t i = 0; i < results; ++i) {
    MlirValue* value = Define(reader, types[i], static_cast<uint32_t>(i));
    value->owner = operation;
    operation->results.push_back(value);
  }
  for (uint64_t i = 0; i < regions; ++i) operation->regions.push_back(module_.NewRegion());
  if (operation->regions.empty()) return;
  if (depth >= kMaxNesting)
    return reader.Fail(absl::StrCat("regions nested more than ", kMaxNesting, " deep"));
  if (!isolated) return ReadRegions(reader, operation, depth + 1);
  scopes_.emplace_back();
  if (version_ >= kLazyRegions) {
    uint8_t id = 0;
    ByteReader section = reader.Section(&id);
    if (id != kIr) reader.Fail("a section that is not IR inside an operation");
    ReadRegions(section, operation, depth + 1);
    if (section.ok() && !section.empty())
      section.Fail("bytes are left over after the regions of an operation");
  } else {
    ReadRegions(reader, operation, depth + 1);
  }
  scopes_.pop_back();
}

void IrReader::ReadRegions(ByteReader& reader, MlirOperation* operation, int depth) {
  for (MlirRegion* region : operation->regions) {
    if (!reader.ok()) return;
    ReadRegion(reader, region, depth);
  }
}

using Sections = std::array<std::optional<ByteReader>, kSectionCount>;

Sections SplitSections(ByteReader& reader, uint64_t version) {
  Sections sections;
  while (!reader.empty()) {
    uint8_t id = 0;
    ByteReader section = reader.Section(&id);
    if (id >= kSectionCount) {
      reader.Fail(absl::StrCat("section ", id, ", which the format does not have,"));
    } else if (sections[id].has_value()) {
      reader.Fail(absl::StrCat("section ", id, " a second time"));
    } else {
      sections[id] = section;
    }
  }
  for (uint8_t id : {kStrings, kDialects, kAttributesAndTypes, kAttributeOffsets, kIr}) {
    if (!sections[id].has_value()) reader.Fail(absl::StrCat("section ", id, " is missing"));
  }
  if (version >= kNativeProperties && !sections[kProperties].has_value())
    reader.Fail("the properties are missing");
  if (sections[kResources].has_value() != sections[kResourceOffsets].has_value()) {
    reader.Fail("one of the two sections of resources is missing");
  }
  return sections;
}

}  // namespace

bool LooksLikeBytecode(absl::string_view bytes) { return absl::StartsWith(bytes, kMagic); }

absl::StatusOr<std::unique_ptr<MlirModule>> ReadMlirBytecode(absl::string_view bytes) {
  ReadFailure failure;
  ByteReader reader(bytes, &failure);
  auto module = std::make_unique<MlirModule>();
  if (reader.Bytes(std::min(kMagic.size(), bytes.size())) != kMagic)
    reader.Fail("the magic number is missing");
  const uint64_t version = reader.VarInt();
  if (version > kNewestBytecode) {
    reader.Fail(
        absl::StrCat("bytecode version ", version, " is newer than ", kNewestBytecode, "; it stands"));
  }
  module->producer = reader.NullTerminated();
  Sections sections = SplitSections(reader, version);
  SHOAL_RETURN_IF_ERROR(failure.status());

  BytecodeTables tables(module.get(), &failure);
  tables.ReadStrings(*sections[kStrings]);
  if (sections[kProperties].has_value()) tables.ReadProperties(*sections[kProperties]);
  tables.ReadDialects(*sections[kDialects], version);
  if (sections[kResources].has_value())
    tables.ReadResources(*sections[kResources], *sections[kResourceOffsets]);
  tables.ReadAttributeOffsets(*sections[kAttributesAndTypes], *sections[kAttributeOffsets]);
  SHOAL_RETURN_IF_ERROR(failure.status());
  module->top = IrReader(&tables, version).ReadTop(*sections[kIr]);
  SHOAL_RETURN_IF_ERROR(Annotate(failure.status(), absl::StrCat("written by '", module->producer, "'")));
  return module;
}

}  // namespace shoal

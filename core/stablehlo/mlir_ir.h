// A small generic MLIR tree: what both readers (bytecode and text) make and what the importer reads.
//
// One vocabulary, whatever the source was. Operations carry StableHLO's own names ("stablehlo.add",
// "func.func", "sdy.mesh"): vhlo's version suffix goes to MlirOperation::version. Attributes carry vhlo's
// flat names ("lhs_batching_dimensions"), and properties stand among them. Types are StableHLO's;
// vhlo's twins of the builtin types are gone.
//
// An MlirModule owns everything below it; nodes are plain pointers that live as long as it does and are not
// changed after reading. Byte views (constants, strings) may point into the bytes that were read, so those
// have to outlive the module. Not synchronised; reading from several threads is safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/types/element_type.h"
#include "core/types/shape.h"

namespace shoal {

struct MlirAttribute;
struct MlirBlock;
struct MlirOperation;

// kMlirDynamic in MlirType::dims: a size that the program does not know. Shoal compiles static shapes only,
// so the importer refuses it by name.
inline constexpr int64_t kMlirDynamic = INT64_MIN;

enum class MlirTypeKind : uint8_t {
  kScalar,    // element
  kTensor,    // dims, elements[0]; encoding may be null
  kUnranked,  // elements[0]
  kTuple,     // elements
  kFuture,    // elements: what it gives
  kFunction,  // elements -> results
  kToken,
  kNone,
  kIndex,
  kQuantized,  // quantization
  kOther,      // anything else; name says what ("memref", "f80")
};

// How the numbers of a quantised type stand for others: (number - zero point) * scale. One scale and zero
// point for a tensor (axis -1), or one for each index along an axis. What MLIR allows to store is exact in a
// double.
struct MlirQuantization {
  ElementType storage;
  ElementType expressed;
  double storage_min = 0;
  double storage_max = 0;
  int64_t axis = -1;
  std::vector<double> scales;
  std::vector<double> zero_points;
};

struct MlirType {
  MlirTypeKind kind = MlirTypeKind::kNone;
  ElementType element = ElementType::kToken;
  DimVector dims;
  std::vector<const MlirType*> elements;
  std::vector<const MlirType*> results;
  const MlirAttribute* encoding = nullptr;
  const MlirQuantization* quantization = nullptr;
  absl::string_view name;
  // Nodes of the tree under this one with shared ones counted every time; readers bound it, so that walking a
  // type or attribute as a tree is always affordable.
  uint32_t weight = 1;
};

enum class MlirAttributeKind : uint8_t {
  kUnit,
  kBool,     // integer
  kInteger,  // type, integer (the low 64 bits, sign-extended from the type's width; unsigned: zero-extended)
  kFloat,    // type, number
  kString,   // text
  kSymbol,   // text is the root ("main"), elements are the nested references
  kType,     // type
  kArray,    // elements
  kDictionary,     // entries
  kDenseElements,  // type (tensor), data: row-major, or one element if splat
  kDenseStrings,   // type (tensor), elements (kString)
  kResource,       // type (tensor), text is the key; data once the resource was found
  kDenseArray,     // type (element), ints if it is an integer type, otherwise data
  kEnum,           // text is the keyword ("LT")
  kRecord,         // text is the name ("sdy.mesh"), entries the parameters
  kLocation,       // text is the name, data the file, integer the line (each if known), elements those within
};

struct MlirNamedAttribute {
  absl::string_view name;
  const MlirAttribute* value = nullptr;
};

struct MlirAttribute {
  MlirAttributeKind kind = MlirAttributeKind::kUnit;
  bool splat = false;
  uint32_t weight = 1;  // as in MlirType
  const MlirType* type = nullptr;
  int64_t integer = 0;
  double number = 0;
  absl::string_view text;
  absl::string_view data;
  std::vector<int64_t> ints;
  std::vector<const MlirAttribute*> elements;
  std::vector<MlirNamedAttribute> entries;

  // The entry called `name` of a dictionary or record, or null.
  const MlirAttribute* Find(absl::string_view name) const;
};

// The result of an operation, or an argument of a block.
struct MlirValue {
  const MlirType* type = nullptr;
  MlirOperation* owner = nullptr;  // null for a block argument
  MlirBlock* block = nullptr;      // of an argument; null for a result
  uint32_t index = 0;              // among the results or arguments
  const MlirAttribute* location = nullptr;
};

struct MlirRegion {
  std::vector<MlirBlock*> blocks;
};

struct MlirBlock {
  std::vector<MlirValue*> arguments;
  std::vector<MlirOperation*> operations;
};

struct MlirOperation {
  absl::string_view name;
  int version = 0;  // vhlo's "_v2" is 2; 0 if the name has none
  std::vector<MlirValue*> operands;
  std::vector<MlirValue*> results;
  std::vector<MlirNamedAttribute> attributes;
  std::vector<MlirRegion*> regions;
  std::vector<MlirBlock*> successors;
  const MlirAttribute* location = nullptr;
  size_t offset = 0;  // where it stood in the source, in bytes

  const MlirAttribute* Find(absl::string_view name) const;
};

// The outermost name that a location gives ("jit(f)/add"); empty if it has none or is null.
absl::string_view LocationName(const MlirAttribute* location);
// The file and line in it: of calls the innermost, which JAX makes the user's own. Null if there is none.
const MlirAttribute* FileLocation(const MlirAttribute* location);

// The weight of a node whose parts have theirs.
uint32_t TreeWeight(const MlirType& type);
uint32_t TreeWeight(const MlirAttribute& attribute);

// The owner of one tree.
class MlirModule {
 public:
  MlirModule() = default;
  MlirModule(const MlirModule&) = delete;
  MlirModule& operator=(const MlirModule&) = delete;

  MlirType* NewType(MlirTypeKind kind);
  MlirAttribute* NewAttribute(MlirAttributeKind kind);
  MlirOperation* NewOperation() { return &operations_.emplace_back(); }
  MlirBlock* NewBlock() { return &blocks_.emplace_back(); }
  MlirRegion* NewRegion() { return &regions_.emplace_back(); }
  MlirValue* NewValue(const MlirType* type, uint32_t index);
  // A copy of `text` that lives as long as the module.
  absl::string_view Keep(std::string text) { return strings_.emplace_back(std::move(text)); }

  // The type of a quantised number; InvalidArgument where the specification's C1 to C11 do not hold.
  absl::StatusOr<MlirType*> NewQuantized(MlirQuantization quantization);

  // The type of a scalar, shared.
  const MlirType* Scalar(ElementType element);

  // The builtin.module operation; set by the reader.
  MlirOperation* top = nullptr;
  // "StableHLO_v1.16.2" for a portable artifact; empty for text.
  absl::string_view producer;

 private:
  std::deque<MlirType> types_;
  std::deque<MlirAttribute> attributes_;
  std::deque<MlirOperation> operations_;
  std::deque<MlirBlock> blocks_;
  std::deque<MlirRegion> regions_;
  std::deque<MlirValue> values_;
  std::deque<MlirQuantization> quantizations_;
  std::deque<std::string> strings_;
  absl::flat_hash_map<ElementType, const MlirType*> scalars_;
};

// "tensor<2x3xf32>": for messages and dumps.
std::string ToString(const MlirType& type);
// MLIR's text of an attribute, which the text reader takes back. Constants stand as hex strings.
std::string ToString(const MlirAttribute& attribute);
// The whole tree in MLIR's generic form, without locations: for tests and dumps.
std::string ToString(const MlirOperation& operation);

}  // namespace shoal

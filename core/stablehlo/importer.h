// Importer and OpImporter: what the family files of this folder write their parts with.
//
// Importer holds what belongs to the whole program (functions, meshes, the HLO module that grows);
// RegionImporter fills one computation; OpImporter is one operation's view: its operands as instructions, its
// attributes, and the calls that make its instructions. A family file implements ImportFns; op_table.cc lists
// them by name.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/status.h"
#include "core/hlo/instruction.h"
#include "core/stablehlo/mlir_ir.h"

namespace shoal {

class OpImporter;
class RegionImporter;

using ImportFn = absl::Status (*)(OpImporter&);
// The function for the operation "stablehlo.add", or null.
ImportFn FindImportFn(absl::string_view name);

// Whether `op`, which may be null, is a constant: those are copied into regions instead of being passed in.
bool IsMlirConstant(const MlirOperation* op);

// The HLO shape of a type; Unimplemented names what has none (dynamic sizes, ...).
// A quantised tensor has that of its storage type.
absl::StatusOr<Shape> ShapeOf(const MlirType& type);

class Importer {
 public:
  Importer(const MlirModule* tree, Module* module) : tree_(tree), module_(module) {}

  absl::Status Run();

  Module* module() { return module_; }
  // The computation of the function @name, imported when first asked for.
  absl::StatusOr<Computation*> Function(absl::string_view name);
  // The literal of a constant of this shape (a splat's: one scalar), made once however often it is copied
  // into regions.
  absl::StatusOr<Literal> LiteralOf(const MlirAttribute& value, const Shape& shape);
  // Where operations are kept that the importer makes itself.
  MlirModule& scratch() { return scratch_; }
  // The mesh @name.
  absl::StatusOr<std::shared_ptr<const Mesh>> MeshNamed(absl::string_view name) const;

 private:
  friend class RegionImporter;
  absl::Status CollectSymbols();
  absl::Status ReadModuleAttributes();
  absl::Status ReadEntryAttributes(const MlirOperation& function, Computation* entry);
  absl::Status ReadArgumentAttributes(const MlirAttribute& attributes, int64_t number, Computation* entry,
                                      size_t leaves);
  // The shardings that the attributes of an argument or result of this shape name; none if they do not.
  absl::StatusOr<std::vector<Sharding>> ShardingsIn(const MlirAttribute& attributes,
                                                    const Shape& shape) const;
  absl::Status ReadParameterShardings(const MlirOperation& function, Computation* computation);
  absl::Status ReadResultAttributes(const MlirAttribute& attributes, size_t leaf, size_t leaves,
                                    const Shape& shape);

  struct FunctionState {
    const MlirOperation* operation = nullptr;
    Computation* computation = nullptr;
    bool importing = false;
  };

  const MlirModule* tree_;
  Module* module_;
  MlirModule scratch_;
  absl::flat_hash_map<absl::string_view, FunctionState> functions_;
  absl::flat_hash_map<absl::string_view, std::shared_ptr<const Mesh>> meshes_;
  absl::flat_hash_map<const MlirAttribute*, Literal> literals_;
  int depth_ = 0;
};

// A send to another device that no recv has taken yet.
struct DeviceSend {
  int64_t channel_id = 0;
  Pairs pairs;                       // of partitions of all replicas
  std::vector<Instruction*> arrays;  // as they arrive
};

// Imports the operations of one block into one computation.
class RegionImporter {
 public:
  RegionImporter(Importer* importer, Computation* computation)
      : importer_(*importer), computation_(*computation) {}

  Importer& importer() { return importer_; }
  Computation& computation() { return computation_; }
  std::vector<DeviceSend>& sends() { return sends_; }  // in the program's order
  void Bind(const MlirValue* value, Instruction* instruction) { values_[value] = instruction; }
  // The instruction of a value that is bound, or a copy of the constant that defines it outside.
  absl::StatusOr<Instruction*> Lookup(const MlirValue* value, const MlirOperation& user);
  // Adds parameters for the arguments of the block, numbered from `first`.
  absl::Status AddParameters(const MlirBlock& block, int64_t first = 0);
  // Imports all operations; the values that the terminator hands back.
  absl::StatusOr<std::vector<Instruction*>> Import(const MlirBlock& block);

 private:
  Importer& importer_;
  Computation& computation_;
  absl::flat_hash_map<const MlirValue*, Instruction*> values_;
  std::vector<DeviceSend> sends_;
};

// One operation while it is imported.
class OpImporter {
 public:
  OpImporter(const MlirOperation* op, RegionImporter* region, std::vector<Instruction*> operands)
      : op_(*op), region_(*region), operands_(std::move(operands)) {}

  const MlirOperation& op() const { return op_; }
  Importer& importer() { return region_.importer(); }
  RegionImporter& region() { return region_; }
  Computation& computation() { return region_.computation(); }
  Module& module() { return *importer().module(); }

  absl::Span<Instruction* const> operands() const { return operands_; }
  Instruction* operand(size_t i) const { return operands_[i]; }
  const Shape& operand_shape(size_t i) const { return operands_[i]->shape(); }
  // InvalidArgument unless there are this many; `results` < 0: any number.
  absl::Status Expect(size_t operands, int results = 1, size_t regions = 0) const;
  // InvalidArgument unless operand `i` is an array.
  absl::Status ExpectArray(size_t i) const;

  // Attributes. Without a default a missing one is InvalidArgument.
  const MlirAttribute* Find(absl::string_view name) const { return op_.Find(name); }
  // Of an array, dense or not, of any rank, flattened.
  absl::StatusOr<IntVector> Ints(absl::string_view name) const;
  absl::StatusOr<IntVector> IntsOr(absl::string_view name, size_t count, int64_t value) const;
  absl::StatusOr<int64_t> Int(absl::string_view name) const;
  absl::StatusOr<int64_t> IntOr(absl::string_view name, int64_t value) const;
  absl::StatusOr<bool> BoolOr(absl::string_view name, bool value) const;
  absl::StatusOr<absl::string_view> Text(absl::string_view name) const;  // keyword, string or symbol
  absl::StatusOr<absl::string_view> TextOr(absl::string_view name, absl::string_view value) const;

  absl::StatusOr<Shape> ResultShape(size_t i = 0) const;
  // Of an instruction with all results: the shape itself if there is one, otherwise a tuple.
  absl::StatusOr<Shape> ResultsShape() const;

  // An instruction with this operation's name for messages, that is not (or not alone) its result.
  Instruction* Add(Opcode opcode, Shape shape, absl::Span<Instruction* const> operands,
                   Attributes attributes = {}, absl::Span<Computation* const> called = {});
  // The instruction with the shape that the results state, and Finish.
  absl::Status Emit(Opcode opcode, absl::Span<Instruction* const> operands, Attributes attributes = {},
                    absl::Span<Computation* const> called = {});
  // Makes `instruction` the result: itself, or its elements if it is a tuple of the results. Takes over
  // shardings.
  absl::Status Finish(Instruction* instruction, bool is_tuple = false);
  // Makes these the results, one each; InvalidArgument where they are of other shapes than the types say.
  absl::Status FinishEach(absl::Span<Instruction* const> values);
  // Makes `value` the only result, without a new instruction.
  absl::Status Alias(Instruction* value);

  // The computation of region `i`, whose parameters are the block's arguments (named `wish`). Captures:
  // constants only.
  absl::StatusOr<Computation*> Body(size_t i, absl::string_view wish);

  // "stablehlo.add at byte 77: <what>"
  absl::Status Error(absl::string_view what) const;
  // "stablehlo.add at byte 77: C1: <what>", the label being the constraint's in the specification
  absl::Status Error(absl::string_view label, absl::string_view what) const;
  absl::Status NotSupported(absl::string_view what) const;

 private:
  const MlirOperation& op_;
  RegionImporter& region_;
  std::vector<Instruction*> operands_;
};

// The flattened integers of an array, dense array or dense constant.
absl::StatusOr<IntVector> IntsOf(const MlirAttribute& attribute);

}  // namespace shoal

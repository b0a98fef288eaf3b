// Instruction, Computation, Module: the IR that every layer works on. XLA's HLO, reduced to what Shoal needs.
//
// A Module owns Computations, a Computation owns Instructions in an order in which every operand comes before
// its users; that order is also the order of execution once the schedule pass has run. A pass may break the
// order while it works (Add appends) and calls SortTopologically before it returns. Computations close over
// nothing: what a region needs, it gets through parameters. Several results are one tuple-shaped instruction
// plus get-tuple-elements. Shapes are global before sharding/partition and local after. Not thread-safe; a
// const Module may be read by many threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/hlo/attributes.h"
#include "core/hlo/opcode.h"
#include "core/hlo/sharding.h"
#include "core/types/shape.h"

namespace shoal {

class Computation;
class Module;

class Instruction {
 public:
  Opcode opcode() const { return opcode_; }
  const std::string& name() const { return name_; }  // unique in its module: "add.3"
  int64_t id() const { return id_; }                 // unique in its module, in order of creation
  const Shape& shape() const { return shape_; }
  Computation* parent() const { return parent_; }

  absl::Span<Instruction* const> operands() const { return operands_; }
  Instruction* operand(int64_t i) const { return operands_[i]; }
  int64_t operand_count() const { return static_cast<int64_t>(operands_.size()); }
  // Each user once, in the order in which they began to use this.
  absl::Span<Instruction* const> users() const { return users_; }

  // while: condition, body. conditional: a branch each. reduce, all-reduce, scatter, sort, call, fusion, ...:
  // one. select-and-scatter: select, scatter.
  absl::Span<Computation* const> called() const { return called_; }
  Computation* called(int64_t i) const { return called_[i]; }

  // REQUIRES: T is the alternative that this opcode has (attributes.h says which).
  template <typename T>
  const T& attributes() const {
    return std::get<T>(attributes_);
  }
  const Attributes& attributes() const { return attributes_; }
  void set_attributes(Attributes attributes) { attributes_ = std::move(attributes); }

  // Shorthands for the most used attributes.
  absl::Span<const int64_t> dimensions() const { return attributes<DimensionsAttributes>().dimensions; }
  const Literal& literal() const { return attributes<ConstantAttributes>().value; }
  int64_t parameter_number() const { return attributes<ParameterAttributes>().number; }
  int64_t tuple_index() const { return attributes<TupleIndexAttributes>().index; }

  // One a leaf of shape(), or none at all if nothing is said.
  const std::vector<Sharding>& shardings() const { return shardings_; }
  const Sharding* sharding() const { return shardings_.size() == 1 ? &shardings_[0] : nullptr; }
  void set_shardings(std::vector<Sharding> shardings) { shardings_ = std::move(shardings); }
  void set_sharding(Sharding sharding) { shardings_.assign(1, std::move(sharding)); }
  void clear_sharding() { shardings_.clear(); }

  // Where the user wrote it: JAX's op name and source line, for messages.
  const std::string& op_name() const { return op_name_; }
  void set_op_name(absl::string_view op_name) { op_name_ = std::string(op_name); }

  void set_shape(Shape shape) { shape_ = std::move(shape); }
  void set_called(int64_t i, Computation* computation) { called_[i] = computation; }
  void ReplaceOperand(int64_t i, Instruction* with);
  // Every user, and the computation's root if this is it, gets `with` instead.
  void ReplaceAllUsesWith(Instruction* with);
  // "%add.3 = f32[4] add(%a, %b)", for messages.
  std::string ToString() const;

 private:
  friend class Computation;
  friend class Module;
  Instruction() = default;
  void AddUser(Instruction* user);
  void RemoveUser(Instruction* user);

  Opcode opcode_ = Opcode::kTuple;
  int64_t id_ = 0;
  int64_t slot_ = 0;  // where its computation keeps it
  std::string name_;
  Shape shape_;
  Computation* parent_ = nullptr;
  absl::InlinedVector<Instruction*, 3> operands_;
  std::vector<Instruction*> users_;
  absl::InlinedVector<Computation*, 1> called_;
  Attributes attributes_;
  std::vector<Sharding> shardings_;
  std::string op_name_;
};

class Computation {
 public:
  const std::string& name() const { return name_; }
  Module* parent() const { return module_; }
  Instruction* root() const { return root_; }
  void set_root(Instruction* root) { root_ = root; }
  // By parameter number.
  absl::Span<Instruction* const> parameters() const { return parameters_; }
  Instruction* parameter(int64_t i) const { return parameters_[i]; }
  // In order; a copy of the pointers, so that a pass may add and remove while it walks.
  std::vector<Instruction*> instructions() const;
  int64_t instruction_count() const { return static_cast<int64_t>(slots_.size()) - empty_slots_; }

  // Appends an instruction. Shape and attributes are taken as given: core/ops infers and checks. `name` is a
  // wish that is made unique; empty takes the opcode's name.
  Instruction* Add(Opcode opcode, Shape shape, absl::Span<Instruction* const> operands,
                   Attributes attributes = {}, absl::Span<Computation* const> called = {},
                   absl::string_view name = "");
  Instruction* AddParameter(int64_t number, Shape shape, absl::string_view name = "");
  Instruction* AddConstant(Literal value);
  Instruction* AddTuple(absl::Span<Instruction* const> elements);
  Instruction* AddGetTupleElement(Instruction* tuple, int64_t index);
  // A copy of `from` (of any computation of any module) with other operands: attributes, shardings, op_name
  // and called computations are taken over (of another module: cloned into this one).
  Instruction* AddClone(const Instruction& from, absl::Span<Instruction* const> operands);
  // REQUIRES: no users, not the root. A parameter's removal leaves the numbers of others alone.
  void Remove(Instruction* instruction);
  // Restores "operands before users", otherwise keeping the present order. False if there is a cycle.
  bool SortTopologically();
  // Sets the order outright. REQUIRES: a permutation of the instructions that is topological.
  void SetOrder(absl::Span<Instruction* const> order);

 private:
  friend class Module;
  friend class Instruction;
  Computation() = default;

  std::string name_;
  Module* module_ = nullptr;
  Instruction* Keep(std::unique_ptr<Instruction> instruction, absl::string_view name);
  void DropEmptySlots();

  // In order; removal leaves an empty slot, so that it costs the same in a long program.
  std::vector<std::unique_ptr<Instruction>> slots_;
  int64_t empty_slots_ = 0;
  std::vector<Instruction*> parameters_;
  Instruction* root_ = nullptr;
};

// What the caller and the program agree on beyond shapes. Indices are those of entry parameters and result
// leaves.
struct ModuleConfig {
  int64_t num_replicas = 1;
  int64_t num_partitions = 1;
  std::vector<std::pair<int64_t, int64_t>> aliases;  // result leaf, parameter: must share memory if donated
  std::vector<int64_t> donors;                       // parameters whose memory any result may take
  std::vector<std::string> parameter_memory_kinds, result_memory_kinds;  // empty: all default
  std::vector<Sharding> result_shardings;  // one a result leaf, or none; a null mesh says nothing
};

class Module {
 public:
  explicit Module(absl::string_view name) : name_(name) {}
  Module(const Module&) = delete;

  const std::string& name() const { return name_; }
  ModuleConfig& config() { return config_; }
  const ModuleConfig& config() const { return config_; }
  Computation* entry() const { return entry_; }
  void set_entry(Computation* entry) { entry_ = entry; }
  // Callees come before callers after SortComputations.
  std::vector<Computation*> computations() const;
  Computation* AddComputation(absl::string_view name);
  // Copies `from`, and what it calls, into this module.
  Computation* CloneComputation(const Computation& from, absl::string_view suffix = "");
  // Drops computations that nothing reachable from the entry calls.
  void RemoveUnreachableComputations();
  void SortComputations();
  std::unique_ptr<Module> Clone() const;
  int64_t instruction_count() const;
  // A name that is not taken yet: `wish`, or wish.N.
  std::string UniqueName(absl::string_view wish);

 private:
  friend class Computation;
  std::string name_;
  ModuleConfig config_;
  std::vector<std::unique_ptr<Computation>> computations_;
  Computation* entry_ = nullptr;
  int64_t next_id_ = 0;
  absl::flat_hash_map<std::string, int64_t> name_uses_;
};

// The leaf of `shape` at tuple index `index` of an only one level deep tuple: where its leaves begin in
// Leaves().
int64_t FirstLeaf(const Shape& tuple, int64_t index);

}  // namespace shoal

// Liveness: which values a scheduled program makes, and from when to when each one is needed.
//
// A value is one array leaf of one instruction. Instructions that only rename (tuple, get-tuple-element,
// reshape, bitcast, opt-barrier, call, parameters of called computations) make none: they forward. So a
// loop's state that its body hands through unchanged *is* the value that the loop started with. A slice that
// collectives read where it lies in a parameter (PlaceInParameter) forwards the parameter.
//
// Time is a line: every instruction of every computation that control flow reaches gets a point on it, a
// loop's condition and body lying between the loop's entry and exit:
//
//     enter | condition... | check | body... | back | exit
//
// At `enter` the initial values are read, from `check` on the body may overwrite state, at `back` the body's
// results are read, at `exit` the loop's result exists. Branches of a conditional lie one after another. Not
// thread-safe while it is built; a value afterwards.
//
// REQUIRES of the module: a computation called by while or conditional has one caller (`UnshareControl`).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "core/base/ids.h"
#include "core/hlo/instruction.h"

namespace shoal {

using ValueId = StrongId<struct ValueIdTag, int32_t>;
using Time = int32_t;

struct Value {
  enum class Kind : uint8_t {
    kOrdinary,
    kParameter,  // of the entry
    kConstant,
    kPartitionId,
    kReplicaId,
    kLoopState,  // what condition and body see; first = just after `enter`
    kLoopResult,
    kBranchResult,
  };
  Kind kind = Kind::kOrdinary;
  const Instruction* def = nullptr;
  int64_t leaf = 0;  // of def's shape
  int64_t bytes = 0;
  Time first = 0;  // when it is written
  Time last = 0;   // when it is read for the last time; at least first
};

struct LoopLeaf {
  ValueId init, state, root, result;
  bool invariant = false;  // all four are the same value
};
struct LoopLiveness {
  const Instruction* loop = nullptr;
  ValueId predicate;
  std::vector<LoopLeaf> leaves;
  Time enter = 0, check = 0, back = 0, exit = 0;
};
struct BranchLiveness {
  const Instruction* conditional = nullptr;
  ValueId selector;
  std::vector<std::vector<ValueId>> roots;  // by branch, leaf
  std::vector<Time> ends;                   // by branch
  std::vector<ValueId> results;  // by leaf; the roots themselves if all branches hand on the same value
};

class Liveness {
 public:
  // Internal for a sharding operation that is left over.
  static absl::StatusOr<Liveness> Of(const Module& module);

  const std::vector<Value>& values() const { return values_; }
  const Value& value(ValueId id) const { return values_[id.value()]; }
  // One a leaf of `instruction`.
  absl::Span<const ValueId> ValuesOf(const Instruction* instruction) const;
  ValueId ValueOf(const Instruction* instruction, int64_t leaf = 0) const {
    return ValuesOf(instruction)[leaf];
  }
  // The leaves of all operands, in order.
  std::vector<ValueId> OperandValues(const Instruction* instruction) const;
  // The instruction that runs at `time`, or null.
  const Instruction* InstructionAt(Time time) const { return at_[time]; }
  Time TimeOf(const Instruction* instruction) const { return time_of_.at(instruction); }
  Time end() const { return static_cast<Time>(at_.size()) - 1; }     // when the results are read
  const std::vector<LoopLiveness>& loops() const { return loops_; }  // inner ones first
  const std::vector<BranchLiveness>& branches() const { return branches_; }
  const std::vector<ValueId>& results() const { return results_; }  // by result leaf

 private:
  using Leaves = absl::InlinedVector<ValueId, 1>;
  Time Tick(const Instruction* instruction = nullptr);
  ValueId Make(Value::Kind kind, const Instruction* def, int64_t leaf, const Shape& shape);
  Leaves MakeAll(Value::Kind kind, const Instruction* def);
  void Use(ValueId id, Time time);
  ValueId Resolve(ValueId id);
  void ResolveAll();
  absl::StatusOr<Leaves> Walk(const Computation& computation, const Leaves& parameters);
  absl::Status Visit(const Instruction* instruction);
  absl::Status VisitLoop(const Instruction* loop);
  absl::Status VisitConditional(const Instruction* conditional);
  Leaves OperandLeaves(const Instruction* instruction) const;

  std::vector<Value> values_;
  std::vector<ValueId> alias_;  // by value: itself, or the value that it turned out to be
  std::vector<const Instruction*> at_;
  absl::flat_hash_map<const Instruction*, Leaves> leaves_;
  absl::flat_hash_map<const Instruction*, Time> time_of_;
  std::vector<LoopLiveness> loops_;
  std::vector<BranchLiveness> branches_;
  std::vector<ValueId> results_;
};

// At which byte of a parameter of the entry the bytes of `slice` lie, if they lie in one piece there, and
// nobody but collectives reads them: so they need not be copied for these.
std::optional<int64_t> PlaceInParameter(const Instruction& slice);

// Whether `instruction` makes no bytes of its own: its leaves are leaves of its operands (or parts of them,
// as PlaceInParameter says), or tokens.
bool OnlyForwards(const Instruction& instruction);

// Gives every while and conditional computations of its own, and calls too.
void UnshareControl(Module& module);

}  // namespace shoal

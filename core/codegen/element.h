// ElementEmitter: the value of any instruction of a fusion at any position, as straight-line vector code.
//
// Emit(op, at) asks for the operands at the positions that `op` needs them (the family's function knows
// which) and combines them; loads happen at the leaves, the fusion's parameters. Equal requests give the same
// value, so an operand that is used twice at one position is computed once. Internal to core/codegen:
// includes LLVM.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/codegen/digits.h"
#include "core/codegen/lanes.h"
#include "core/hlo/instruction.h"

namespace shoal {

class ElementEmitter {
 public:
  explicit ElementEmitter(LaneBuilder& lanes) : lanes_(lanes), index_(lanes) {}

  LaneBuilder& lanes() { return lanes_; }
  llvm::IRBuilder<>& b() { return lanes_.b; }
  IndexBuilder& index() { return index_; }

  // `op`'s value is in memory from `pointer` on.
  void BindMemory(const Instruction* op, llvm::Value* pointer) { memory_[op] = pointer; }
  llvm::Value* Memory(const Instruction* op) const;  // null if it is not bound
  // `op`'s value at `at` is known.
  void BindElement(const Instruction* op, const Digits& at, std::vector<Element> value);

  absl::StatusOr<Element> Emit(const Instruction& op, const Digits& at);
  // All results of an op with a tuple shape.
  absl::StatusOr<std::vector<Element>> EmitTuple(const Instruction& op, const Digits& at);
  // The elements are wanted only in lanes where `mask` holds: elsewhere positions may lie outside of the
  // array.
  absl::StatusOr<Element> EmitMasked(const Instruction& op, const Digits& at, llvm::Value* mask);
  // From now on only these lanes exist at all (the rest of a row that is no multiple of the width).
  void set_mask(llvm::Value* mask) { mask_ = mask; }
  // A scalar i64 from a scalar integer instruction.
  absl::StatusOr<llvm::Value*> EmitScalarIndex(const Instruction& op);

  // The results of a region of scalars (a reduction's, a comparator) for these arguments.
  absl::StatusOr<std::vector<Element>> EmitRegion(const Computation& region,
                                                  absl::Span<const Element> arguments);

  // Reads element `at` of the array in memory.
  Element Load(const Shape& shape, llvm::Value* pointer, const Digits& at, bool is_input = true);

  // Code emitted within may be skipped or repeated, so nothing computed there is remembered after it.
  class Scope {
   public:
    explicit Scope(ElementEmitter& emitter) : emitter_(emitter), saved_(emitter.memo_) {}
    ~Scope() { emitter_.memo_ = std::move(saved_); }

   private:
    ElementEmitter& emitter_;
    absl::flat_hash_map<std::vector<int64_t>, std::vector<Element>> saved_;
  };

 private:
  std::vector<int64_t> Key(const Instruction& op, const Digits& at) const;
  absl::StatusOr<std::vector<Element>> Compute(const Instruction& op, const Digits& at);

  LaneBuilder& lanes_;
  IndexBuilder index_;
  llvm::Value* mask_ = nullptr;
  absl::flat_hash_map<const Instruction*, llvm::Value*> memory_;
  absl::flat_hash_map<std::vector<int64_t>, std::vector<Element>> memo_;
};

// The families' parts: one element of `op` at `at`.
absl::StatusOr<Element> EmitElementwise(ElementEmitter& e, const Instruction& op, const Digits& at);
absl::StatusOr<Element> EmitConstantFamily(ElementEmitter& e, const Instruction& op, const Digits& at);
absl::StatusOr<Element> EmitReshapeFamily(ElementEmitter& e, const Instruction& op, const Digits& at);
absl::StatusOr<Element> EmitSliceFamily(ElementEmitter& e, const Instruction& op, const Digits& at);
absl::StatusOr<Element> EmitGather(ElementEmitter& e, const Instruction& op, const Digits& at);
absl::StatusOr<std::vector<Element>> EmitReduce(ElementEmitter& e, const Instruction& op, const Digits& at);
absl::StatusOr<std::vector<Element>> EmitReduceWindow(ElementEmitter& e, const Instruction& op,
                                                      const Digits& at);
absl::StatusOr<Element> EmitDot(ElementEmitter& e, const Instruction& op, const Digits& at);
absl::StatusOr<Element> EmitConvolution(ElementEmitter& e, const Instruction& op, const Digits& at);
// The clamped start along each dimension of a dynamic-slice or dynamic-update-slice, whose start operands
// begin at `first_operand`; empty where the window is the whole dimension.
absl::StatusOr<std::vector<std::optional<Index>>> EmitStarts(ElementEmitter& e, const Instruction& op,
                                                             int64_t first_operand, const Shape& whole,
                                                             absl::Span<const int64_t> window);
// An elementwise op on operand values at hand; also of complex type.
absl::StatusOr<Element> EmitElementwiseValue(LaneBuilder& lanes, const Instruction& op,
                                             absl::Span<Element> operands);
absl::StatusOr<Element> EmitComplexValue(LaneBuilder& lanes, const Instruction& op,
                                         absl::Span<const Element> operands);

absl::Status NoEmitter(const Instruction& op);

// for (i = begin; i < end; i += step) body(i); begin, end i64.
absl::Status EmitLoop(LaneBuilder& lanes, llvm::Value* begin, llvm::Value* end, int64_t step,
                      absl::FunctionRef<absl::Status(llvm::Value*)> body);
// The same with values carried from one iteration to the next; returns the last ones.
using Carried = std::vector<llvm::Value*>;
absl::StatusOr<Carried> EmitLoopCarrying(
    LaneBuilder& lanes, llvm::Value* begin, llvm::Value* end, int64_t step, Carried initial,
    absl::FunctionRef<absl::StatusOr<Carried>(llvm::Value*, const Carried&)> body);
// if (condition) body();
absl::Status EmitIf(LaneBuilder& lanes, llvm::Value* condition, absl::FunctionRef<absl::Status()> body);
// Elements as loop-carried values and back.
Carried Flatten(absl::Span<const Element> elements);
std::vector<Element> Unflatten(const Carried& values, absl::Span<const Element> like);

}  // namespace shoal

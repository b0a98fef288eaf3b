// HloBuilder: adds instructions to a computation with inferred shapes. The partitioner's LocalBuilder adds to
// it what parts and devices need (sharding/reshard/local_builder.h).
//
//   HloBuilder b(computation);
//   Instruction* y = b.Multiply(b.Add(x, bias), b.Splat(x->shape(), 2.0));
//   SHOAL_RETURN_IF_ERROR(b.status());
//
// Make tells of bad input at once. The typed functions are for arguments that the caller has made sure of: a
// mistake is kept in status(), and what they return then has some shape. Instructions are appended: after
// building for an instruction in the middle, SortTopologically. Two builders may work on one computation in
// turns. Not thread-safe.
#pragma once

#include <initializer_list>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/hlo/instruction.h"

namespace shoal {

class HloBuilder {
 public:
  explicit HloBuilder(Computation* computation) : computation_(computation) {}

  Computation* computation() const { return computation_; }
  // The first mistake.
  const absl::Status& status() const { return status_; }
  // Given to all that is built from now on.
  void set_op_name(absl::string_view op_name) { op_name_ = std::string(op_name); }
  const std::string& op_name() const { return op_name_; }

  // Any operation; `wanted` for those whose shape does not follow from the operands
  // (core/ops/shape_inference.h).
  absl::StatusOr<Instruction*> Make(Opcode opcode, absl::Span<Instruction* const> operands,
                                    Attributes attributes = {}, absl::Span<Computation* const> called = {},
                                    const Shape* wanted = nullptr);
  // The same, with a mistake kept in status().
  Instruction* Op(Opcode opcode, absl::Span<Instruction* const> operands, Attributes attributes = {},
                  absl::Span<Computation* const> called = {}, const Shape* wanted = nullptr);

  // Elementwise.
  Instruction* Unary(Opcode opcode, Instruction* x) { return Op(opcode, {x}); }
  Instruction* Binary(Opcode opcode, Instruction* x, Instruction* y) { return Op(opcode, {x, y}); }
  Instruction* Add(Instruction* x, Instruction* y) { return Binary(Opcode::kAdd, x, y); }
  Instruction* Subtract(Instruction* x, Instruction* y) { return Binary(Opcode::kSubtract, x, y); }
  Instruction* Multiply(Instruction* x, Instruction* y) { return Binary(Opcode::kMultiply, x, y); }
  Instruction* Divide(Instruction* x, Instruction* y) { return Binary(Opcode::kDivide, x, y); }
  Instruction* Maximum(Instruction* x, Instruction* y) { return Binary(Opcode::kMaximum, x, y); }
  Instruction* Minimum(Instruction* x, Instruction* y) { return Binary(Opcode::kMinimum, x, y); }
  Instruction* And(Instruction* x, Instruction* y) { return Binary(Opcode::kAnd, x, y); }
  Instruction* Or(Instruction* x, Instruction* y) { return Binary(Opcode::kOr, x, y); }
  Instruction* Compare(ComparisonDirection direction, Instruction* x, Instruction* y);
  Instruction* Select(Instruction* predicate, Instruction* on_true, Instruction* on_false);
  Instruction* Convert(Instruction* x, ElementType type);  // x itself if it has that type
  Instruction* BitcastConvert(Instruction* x, const Shape& shape);

  // Values from nothing.
  Instruction* Constant(Literal value);
  Instruction* Scalar(ElementType type, double value);  // rounded as a conversion of the number is
  Instruction* Splat(const Shape& shape, double value);
  Instruction* Iota(const Shape& shape, int64_t dimension);

  // Index maps.
  Instruction* Broadcast(Instruction* x, absl::Span<const int64_t> result_dims, IntVector dimensions);
  Instruction* Reshape(Instruction* x, absl::Span<const int64_t> dims);  // x itself if it has those
  Instruction* Transpose(Instruction* x, IntVector permutation);         // x itself if nothing moves
  Instruction* Slice(Instruction* x, IntVector starts, IntVector limits, IntVector strides = {});
  Instruction* SliceInDim(Instruction* x, int64_t dimension, int64_t start, int64_t limit);
  Instruction* DynamicSlice(Instruction* x, absl::Span<Instruction* const> starts, IntVector sizes);
  Instruction* Concatenate(absl::Span<Instruction* const> parts, int64_t dimension);

  Instruction* Dot(Instruction* lhs, Instruction* rhs, DotAttributes dot, ElementType result);
  Instruction* Reduce(Instruction* x, Instruction* init, IntVector dimensions, Computation* body);
  Instruction* Sort(absl::Span<Instruction* const> inputs, int64_t dimension, bool is_stable,
                    Computation* comparator);

  // Structure.
  Instruction* Tuple(absl::Span<Instruction* const> elements) { return Op(Opcode::kTuple, elements); }
  Instruction* GetTupleElement(Instruction* tuple, int64_t index);
  Instruction* Call(Computation* callee, absl::Span<Instruction* const> operands);
  Instruction* PartitionId() { return Op(Opcode::kPartitionId, {}); }

 private:
  Computation* computation_;
  absl::Status status_;
  std::string op_name_;
};

// (a, b) -> opcode(a, b) over scalars, as a reduction's body.
Computation* AddScalarBody(Module& module, Opcode opcode, ElementType type);
// A scalar of `type` nearest to `value`; for integers its low bits.
Literal ScalarLiteral(ElementType type, double value);
Literal IntLiteral(ElementType type, int64_t value);

}  // namespace shoal

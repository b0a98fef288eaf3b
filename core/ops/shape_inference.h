// Shape inference: the shape that an operation gives for its operands and attributes, or which constraint
// they break.
//
// Operations whose result does not follow from their operands (reshape, convert, custom-call, ...) take it
// from `wanted` and check it. Failures are InvalidArgument as "dot C9: what, in dot(f32[2,3], f32[3,5])", the
// label being the constraint's in StableHLO's specification; rules that only HLO has are labelled H1, H2, ...
// Thread-safe. Any attributes are safe to ask about.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/hlo/instruction.h"

namespace shoal {

// An operation that may not be an instruction yet. Refers to the caller's objects.
struct OpView {
  Opcode opcode;
  absl::Span<Instruction* const> operands;
  const Attributes& attributes;
  absl::Span<Computation* const> called;
  const Shape* wanted = nullptr;   // the result's shape as far as it is known
  const Module* module = nullptr;  // for the number of partitions; null: taken from an operand's

  const Shape& shape(int64_t i) const { return operands[i]->shape(); }
  int64_t operand_count() const { return static_cast<int64_t>(operands.size()); }
  template <typename T>
  const T& attributes_as() const {
    return std::get<T>(attributes);
  }
};

absl::StatusOr<Shape> InferShape(const OpView& op);
// With the instruction's own shape as the wanted one.
absl::StatusOr<Shape> InferShape(const Instruction& instruction);

// The part of one family, defined in its file.
// REQUIRES: op's attributes are of its kind, and it has as many operands and called computations as op_list.h
// says.
template <OpFamily family>
absl::StatusOr<Shape> InferFamilyShape(const OpView& op);

}  // namespace shoal

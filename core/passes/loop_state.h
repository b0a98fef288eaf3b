// LoopState: a while loop whose state is a tuple, seen element by element; and how elements are dropped.
//
// A view: it goes stale when the loop changes. Used by the passes that rework loops.
#pragma once

#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/hlo/instruction.h"

namespace shoal {

struct LoopState {
  Instruction* loop = nullptr;
  Computation* condition = nullptr;
  Computation* body = nullptr;
  int64_t size = 0;  // elements of the state

  // The element's value after an iteration: the body root's operand.
  Instruction* next(int64_t i) const { return body->root()->operand(i); }
  // Whether the body hands the element on as it is.
  bool IsInvariant(int64_t i) const;

  // None if the state is no tuple, the body's root no tuple instruction, or one of the two parameters is used
  // other than by get-tuple-element, or a computation has another caller. `call_counts` is
  // CallCounts(module).
  static std::optional<LoopState> Of(Instruction* loop,
                                     const absl::flat_hash_map<const Computation*, int>& call_counts);
};

// How many instructions call each computation.
absl::flat_hash_map<const Computation*, int> CallCounts(const Module& module);

// Whether everything that uses `tuple` takes an element of it.
bool OnlyElementsUsed(const Instruction& tuple);
// The element i of `tuple`: the operand of a tuple instruction, else a get-tuple-element (an existing one if
// there is).
Instruction* ElementOf(Instruction* tuple, int64_t i);

// How often the body runs, if that follows from constants: the condition compares an element that starts at a
// constant and grows by one with a constant.
std::optional<int64_t> TripCount(const LoopState& state);

// Makes the loop anew with `values`, of its own computation, as further elements that stay what they are, and
// removes the old one. `in_body` gets what stands for them in the body. REQUIRES: OnlyElementsUsed(loop).
// Appended: the caller sorts.
Instruction* AppendInvariants(const LoopState& state, absl::Span<Instruction* const> values,
                              std::vector<Instruction*>& in_body);

// Makes the loop anew with only the state elements `kept`, ascending, and removes the old one. REQUIRES:
// OnlyElementsUsed(loop), and nothing but the dropped elements depends on them. Gives the new loop, appended:
// the caller sorts.
Instruction* KeepElements(const LoopState& state, const std::vector<int64_t>& kept);

}  // namespace shoal

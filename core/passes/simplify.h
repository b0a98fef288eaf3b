// Simplify: algebra on single instructions, to a fixed point. One row a rule (simplify_*.cc), named for dumps
// and tests:
//
//     add(x, broadcast(0))        ->  x                        reshape(reshape(x))     ->  reshape(x)
//     power(x, 2)                 ->  multiply(x, x)           slice(slice(x))         ->  slice(x)
//     dynamic-slice(x, 1, 2)      ->  slice(x)                 dot(transpose(a), b)    ->  dot(a, b)
//
// No rule changes a number beyond what XLA's CPU compiler does to it: NaN and signed zeros count, but x + 0
// is x; integers wrap. An instruction with a sharding of its own is left alone, so the pass may run before
// and after partitioning. Leaves dead code.
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/hlo/instruction.h"
#include "core/ops/builder.h"

namespace shoal {

absl::StatusOr<bool> Simplify(Module& module);

// What may stand for `op`, of the same shape; built with `b` if need be; null if the rule does not apply. A
// rule that does not apply builds nothing.
using SimplifyRule = Instruction* (*)(Instruction& op, HloBuilder& b);

struct SimplifyRow {
  Opcode opcode;
  absl::string_view what;
  SimplifyRule rule;
};

// The rules by subject; of one opcode they are tried in this order.
absl::Span<const SimplifyRow> ElementwiseRules();
absl::Span<const SimplifyRow> SelectRules();
absl::Span<const SimplifyRow> ReshapeRules();
absl::Span<const SimplifyRow> SliceRules();
absl::Span<const SimplifyRow> ReduceRules();
absl::Span<const SimplifyRow> DotRules();
absl::Span<const SimplifyRow> StructureRules();
absl::Span<const SimplifyRow> CollectiveRules();

}  // namespace shoal

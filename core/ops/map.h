// Map: a computation over single elements, done on whole arrays.
#pragma once

#include "absl/status/statusor.h"
#include "core/ops/builder.h"

namespace shoal {

// What `body`, a computation of scalars, gives for each element of `operands`: arrays of the same dimensions,
// one for each parameter and of its element type. Appends body's operations to the builder's computation with
// those dimensions, constants broadcast. Unimplemented if one of them is not elementwise (a loop, a call),
// naming it.
absl::StatusOr<Instruction*> Map(HloBuilder& b, const Computation& body,
                                 absl::Span<Instruction* const> operands);

}  // namespace shoal

// Map: a computation over single elements, done on whole arrays.
#pragma once

#include "absl/status/statusor.h"
#include "core/ops/builder.h"

namespace shoal {

// What `body`, a computation of scalars, gives for each element of `operands`: arrays of the same dimensions,
// one for each parameter and of its element type. Appends to the builder's computation: body's operations
// with those dimensions, constants broadcast, if all are elementwise. If some are not (a loop, a branch, a
// table), elements are of different paths, so a loop calls body for one after the other: whoever runs this
// after InlineCalls runs that again.
absl::StatusOr<Instruction*> Map(HloBuilder& b, Computation& body, absl::Span<Instruction* const> operands);

}  // namespace shoal

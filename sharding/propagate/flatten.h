// Makes every computation that holds arrays belong to one place: calls are inlined, and a loop body, branch
// or manual region that several instructions share is copied for each. Afterwards an array has one sharding.
// Regions of scalars (of reduce, sort, ...) stay shared; sharding constraints in them, which say nothing, go.
#pragma once

#include "absl/status/status.h"
#include "core/hlo/instruction.h"

namespace shoal {

absl::Status FlattenCalls(Module& module);

// The computations of `instruction` that hold arrays of the program: of while, conditional, call and
// manual-computation.
absl::Span<Computation* const> ProgramComputations(const Instruction& instruction);

}  // namespace shoal

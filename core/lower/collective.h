// From collective instructions to the communicator's CollectiveOp.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "core/hlo/instruction.h"
#include "core/runtime/communicator.h"

namespace shoal {

// Everything but number and program_fingerprint. Unimplemented, naming the instruction, for a reduction that
// is not one of ReductionKind's.
absl::StatusOr<CollectiveOp> CollectiveOpOf(const Instruction& instruction);

// The reduction that a computation of two scalars does, or Unimplemented.
absl::StatusOr<ReductionKind> ReductionKindOf(const Computation& reducer);

}  // namespace shoal

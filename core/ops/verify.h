// Verify: everything that must hold of a module between two stages.
#pragma once

#include "absl/status/status.h"
#include "core/hlo/instruction.h"

namespace shoal {

// VerifyStructure (core/hlo/verifier.h), and every instruction's shape is what InferShape says. The error
// names the instruction and where the user wrote it.
absl::Status Verify(const Module& module);

}  // namespace shoal

// RemoveBarriers: every opt-barrier becomes its operand.
//
// A barrier keeps passes from merging what the user wants computed twice (rematerialisation); run this when
// no such pass follows.
#pragma once

#include "absl/status/statusor.h"
#include "core/hlo/instruction.h"

namespace shoal {

absl::StatusOr<bool> RemoveBarriers(Module& module);

}  // namespace shoal

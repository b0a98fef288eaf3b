// InspectShardings: answers jax.debug.inspect_array_sharding, once every array has its sharding.
#pragma once

#include "absl/status/status.h"
#include "core/hlo/instruction.h"

namespace shoal {

// Calls back for every custom call InspectSharding with its operand's sharding, and takes the call out of the
// program. What is called back stands as two pointers in the call's backend configuration, so it must be of
// this process: the error of the callback is Internal, another configuration is InvalidArgument.
absl::Status InspectShardings(Module& module);

}  // namespace shoal

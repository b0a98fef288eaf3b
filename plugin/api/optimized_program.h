// The optimised program of an executable as the API gives it out.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "plugin/client/executable.h"

namespace shoal {

// A serialized HloModuleProtoWithConfig. Unimplemented if the compiler kept no module.
absl::StatusOr<std::string> OptimizedProgramBytes(const PjRtExecutable& executable);

}  // namespace shoal

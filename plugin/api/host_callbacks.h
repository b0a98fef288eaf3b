// The callbacks of an execution, by which the caller exchanges arrays with a program that runs.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "plugin/client/host_transfer.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace shoal {

// One list a device; empty if there are no callbacks at all. What the options point to may go, what the
// callbacks are called with must stay until the run is over.
absl::StatusOr<std::vector<HostCallbacks>> HostCallbacksOf(const PJRT_ExecuteOptions& options,
                                                           size_t num_devices);

}  // namespace shoal

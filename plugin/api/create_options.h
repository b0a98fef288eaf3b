// What a caller gives when it creates a client: named options and the callbacks of its key-value store.
#pragma once

#include "absl/status/statusor.h"
#include "plugin/api/api.h"
#include "plugin/client/client.h"

namespace shoal {

// InvalidArgument for a name that nobody knows or a value of the wrong type. The callbacks must outlive the
// client.
absl::StatusOr<PjRtClientOptions> ParseCreateOptions(const PJRT_Client_Create_Args& args);

}  // namespace shoal

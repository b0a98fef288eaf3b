// The errors that the stores of this folder give, so that they read alike.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace shoal {

absl::Status KeyNotFound(absl::string_view key);
absl::Status KeyExists(absl::string_view key);
absl::Status KeyNotInTime(absl::string_view key, absl::Duration timeout);
// Of a system call: Unavailable, with what errno says of the file at `path`.
absl::Status SystemError(absl::string_view what, absl::string_view path);

}  // namespace shoal

#include "launcher/store/store_errors.h"

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace shoal {

absl::Status KeyNotFound(absl::string_view key) {
  return absl::NotFoundError(absl::StrCat("key \"", key, "\" is not in the job's store"));
}

absl::Status KeyExists(absl::string_view key) {
  return absl::AlreadyExistsError(
      absl::StrCat("key \"", key, "\" is in the job's store already; keys are written once"));
}

absl::Status KeyNotInTime(absl::string_view key, absl::Duration timeout) {
  return absl::DeadlineExceededError(
      absl::StrCat("key \"", key, "\" did not come within ", absl::FormatDuration(timeout)));
}

absl::Status SystemError(absl::string_view what, absl::string_view path) {
  return absl::UnavailableError(absl::StrCat(what, " ", path, ": ", std::strerror(errno)));
}

}  // namespace shoal

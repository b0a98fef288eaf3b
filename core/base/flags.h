// The table of flags: every SHOAL_* environment variable that Shoal reads, with default and help.
//
// One row a flag (flag_list.h); README's table has the same, which tests/structure/readme_test.py compares.
// Values are read from the environment at each call, so tests may set them; callers that care for speed keep
// the answer. Thread-safe as getenv is. A value that does not parse is an InvalidArgument naming the flag,
// the value and the form.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace shoal {

// Each wants a name of the table with that type; another name is an Internal error.
absl::StatusOr<bool> BoolFlag(absl::string_view name);
absl::StatusOr<int64_t> IntFlag(absl::string_view name);
absl::StatusOr<std::string> StringFlag(absl::string_view name);

// InvalidArgument for the first flag whose value does not parse; called once by the client's creation.
absl::Status CheckFlags();
// Names in the environment that start with SHOAL_ but are in no row: a typo worth a warning.
std::vector<std::string> UnknownFlags();

}  // namespace shoal

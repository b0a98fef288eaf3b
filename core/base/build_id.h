// BuildId: which build of the code this is, as the linker stamped it on the library or program that holds it.
#pragma once

#include "absl/strings/string_view.h"

namespace shoal {

// Hexadecimal; empty if the linker left no build id. Found once.
absl::string_view BuildId();

}  // namespace shoal

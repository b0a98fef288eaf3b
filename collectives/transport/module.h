// Modules: the shared libraries of Shoal that are linked with an outside library and loaded at need, so that
// the plugin itself works without it. A module has one symbol, a function that returns its table of calls.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace shoal {

// The address of `symbol` in the module `file`, looked for beside this library and then at `build_path` (may
// be empty); opened with RTLD_LOCAL and never closed. Unavailable, with the loader's words, if there is none.
absl::StatusOr<void*> ModuleSymbol(absl::string_view file, absl::string_view build_path,
                                   absl::string_view symbol);

}  // namespace shoal

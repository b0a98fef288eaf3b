// Modules: the shared libraries of Shoal that are linked with an outside library and loaded at need, so that
// the plugin itself works without it. A module has one symbol, a function that returns its table of calls.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/status.h"

namespace shoal {

// The address of `symbol` in the module `file`, looked for beside this library and then at `build_path` (may
// be empty); opened with RTLD_LOCAL and never closed. Unavailable, with the loader's words, if there is none.
absl::StatusOr<void*> ModuleSymbol(absl::string_view file, absl::string_view build_path,
                                   absl::string_view symbol);

// What the module's one function, `symbol`, returns: a table of calls, whose first field is its version. The
// same failure, and Unavailable where the module is of another version than `version`; `library` is what it
// brings, for messages.
template <typename Table>
absl::StatusOr<const Table*> ModuleTable(absl::string_view library, absl::string_view file,
                                         absl::string_view build_path, absl::string_view symbol,
                                         int version) {
  const absl::StatusOr<void*> address = ModuleSymbol(file, build_path, symbol);
  if (!address.ok()) return Annotate(address.status(), absl::StrCat(library, " is not available"));
  const Table* table = reinterpret_cast<const Table* (*)()>(*address)();
  if (table->version == version) return table;
  return absl::UnavailableError(absl::StrCat(
      file, " is of another version of Shoal than the plugin: install both anew (pip install .)"));
}

}  // namespace shoal

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

// Whether this host has a network device that reads and writes memory by itself. Without one, an outside
// library's own handshake for large data is to be avoided: over TCP the answer queues behind all data that
// goes the other way, so that one direction waits for the end of the other. Our own handshake, made before
// any data goes, is enough. Two hosts of two processes over 1 Gbit/s, 32 MiB, with it and without: all-reduce
// 1.8 and 1.35 times what the wire needs.
bool HasRdmaDevice();

}  // namespace shoal

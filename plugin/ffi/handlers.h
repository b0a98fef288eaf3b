// The FFI handlers that somebody registered, as factories of core's custom call registry.
//
// Thread-safe. A handler stays for the life of the process.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "xla/ffi/api/c_api.h"

namespace shoal {

// A bit of XLA_FFI_Handler_Traits that only Shoal knows: the handler may wait, say for Python's lock or for
// another program, so it runs on a thread of its own (core/tasks/waiting_threads.h).
inline constexpr XLA_FFI_Handler_Traits kFfiMayWait = 1u << 31;

struct FfiHandler {
  XLA_FFI_Handler_Bundle bundle = {};
  bool may_wait = false;
};

// For `platform` cpu, host or shoal in any case; another one is InvalidArgument. The handler is asked which
// version of the FFI it was built with: another major version is InvalidArgument. AlreadyExists if the target
// has other handlers.
absl::Status RegisterFfiHandler(absl::string_view target, absl::string_view platform,
                                const XLA_FFI_Handler_Bundle& bundle, XLA_FFI_Handler_Traits traits);

}  // namespace shoal

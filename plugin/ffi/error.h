// Errors between XLA's FFI and ours.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "xla/ffi/api/c_api.h"

struct XLA_FFI_Error {
  // jaxlib's own code takes an error of its table (of PyFfiContext.stream) for a struct that begins with an
  // absl::Status of its version of abseil. This is one: a code without a message, held inline.
  uintptr_t inlined_status;
  absl::Status status;
  std::string message;  // the status's, ended by a zero
};

namespace shoal {

// Null for OK. Who gets the error owns it.
XLA_FFI_Error* ToFfiError(const absl::Status& status);
// Destroys `error`; OK for null.
absl::Status TakeFfiError(XLA_FFI_Error* error);

}  // namespace shoal

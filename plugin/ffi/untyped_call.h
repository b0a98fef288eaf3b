// Custom calls of XLA's older, untyped interface: a C function that gets pointers and nothing else, of one of
// three forms, by the call site's API version:
//
//   1  void f(void* out, const void** in)
//   2  void f(void* out, const void** in, XlaCustomCallStatus* status)
//   3  void f(void* out, const void** in, const char* opaque, size_t opaque_len, XlaCustomCallStatus* status)
//
// `out` is the result's memory, or an array of pointers if there are several results.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace shoal {

// A target that has typed handlers too is never called untyped. AlreadyExists if the target has another
// function. Thread-safe.
absl::Status RegisterUntypedFunction(absl::string_view target, void* function);

}  // namespace shoal

#include "plugin/ffi/error.h"

#include <memory>

namespace shoal {

XLA_FFI_Error* ToFfiError(const absl::Status& status) {
  if (status.ok()) return nullptr;
  const auto code = static_cast<uintptr_t>(status.raw_code());
  return new XLA_FFI_Error{code << 2 | 1, status, std::string(status.message())};
}

absl::Status TakeFfiError(XLA_FFI_Error* error) {
  const std::unique_ptr<XLA_FFI_Error> owned(error);
  return owned == nullptr ? absl::OkStatus() : owned->status;
}

}  // namespace shoal

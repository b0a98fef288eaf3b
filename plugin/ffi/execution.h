// XLA_FFI_ExecutionContext: what a handler may ask of the call that it serves. XLA_FFI_Future: how it tells
// that it goes on after it has returned.
#pragma once

#include <array>
#include <atomic>
#include <memory>

#include "absl/status/statusor.h"
#include "core/runtime/program.h"
#include "core/tasks/future.h"
#include "xla/ffi/api/c_api.h"

namespace shoal {

// An object of a registered type that a handler has left for its later stages; destroyed as the type says.
class FfiState {
 public:
  FfiState() = default;
  FfiState(int64_t type_id, void* object) : type_id_(type_id), object_(object) {}
  FfiState(const FfiState&) = delete;
  FfiState& operator=(const FfiState&) = delete;
  ~FfiState();

  // AlreadyExists if there is one.
  absl::Status Set(int64_t type_id, void* object);
  // NotFound if there is none, InvalidArgument if it is of another type.
  absl::StatusOr<void*> Get(int64_t type_id) const;

 private:
  int64_t type_id_ = 0;
  void* object_ = nullptr;
};

inline constexpr int kFfiStages = 4;

}  // namespace shoal

struct XLA_FFI_ExecutionContext {
  const shoal::RunContext* run = nullptr;  // null while the call site is made
  // By stage, null where this call may keep none. The first belongs to the call site, the others to one call.
  std::array<shoal::FfiState*, shoal::kFfiStages> states = {};
};

// Held by the handler, which sets it once, and by the frame that it was put into.
struct XLA_FFI_Future {
  shoal::Promise promise;
  std::atomic<int> holders{2};
  void Release() {
    if (holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
};

#include "plugin/ffi/execution.h"

#include "absl/strings/str_cat.h"
#include "plugin/ffi/types.h"

namespace shoal {

FfiState::~FfiState() {
  if (object_ == nullptr) return;
  if (const FfiDeleter deleter = FfiDeleterOf(type_id_); deleter != nullptr) deleter(object_);
}

absl::Status FfiState::Set(int64_t type_id, void* object) {
  if (type_id_ != 0) {
    return absl::AlreadyExistsError(absl::StrCat("the stage has a state of type ", type_id_,
                                                 " already, another of type ", type_id, " is set"));
  }
  type_id_ = type_id;
  object_ = object;
  return absl::OkStatus();
}

absl::StatusOr<void*> FfiState::Get(int64_t type_id) const {
  if (type_id_ == 0) return absl::NotFoundError("the stage has set no state");
  if (type_id_ == type_id) return object_;
  return absl::InvalidArgumentError(
      absl::StrCat("the state is of type ", type_id_, ", the handler asks for type ", type_id));
}

}  // namespace shoal

// The types of state and user data that handlers know: a name, an id, and how an object is destroyed.
//
// Ids come from whoever made the type: jaxlib's are its own, those that are asked of us count from 2^32, so
// that the two do not meet. Thread-safe.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace shoal {

using FfiDeleter = void (*)(void* object);

// Registers `name` and gives its id: a new one if `id` is 0. AlreadyExists if the name has another id, or the
// id another name.
absl::StatusOr<int64_t> RegisterFfiType(absl::string_view name, int64_t id, FfiDeleter deleter);
// Null if the type is not registered, or says nothing of its end.
FfiDeleter FfiDeleterOf(int64_t id);

}  // namespace shoal

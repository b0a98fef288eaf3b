#include "launcher/store/callback_store.h"

#include "absl/strings/str_cat.h"
#include "launcher/store/store_errors.h"

namespace shoal {

absl::Status CallbackStore::Set(absl::string_view key, absl::string_view value) {
  return callbacks_.put(absl::StrCat(prefix_, key), value);
}

absl::StatusOr<std::string> CallbackStore::Get(absl::string_view key, absl::Duration timeout) {
  return callbacks_.get(absl::StrCat(prefix_, key), timeout);
}

absl::StatusOr<std::string> CallbackStore::TryGet(absl::string_view key) {
  const std::string full = absl::StrCat(prefix_, key);
  if (callbacks_.try_get) return callbacks_.try_get(full);
  absl::StatusOr<std::string> value = callbacks_.get(full, absl::Milliseconds(1));
  if (absl::IsDeadlineExceeded(value.status())) return KeyNotFound(key);
  return value;
}

}  // namespace shoal

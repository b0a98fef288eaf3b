#include "launcher/store/memory_store.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace shoal {

absl::Status KeyNotFound(absl::string_view key) {
  return absl::NotFoundError(absl::StrCat("key \"", key, "\" is not in the job's store"));
}

absl::Status KeyExists(absl::string_view key) {
  return absl::AlreadyExistsError(
      absl::StrCat("key \"", key, "\" is in the job's store already; keys are written once"));
}

absl::Status KeyNotInTime(absl::string_view key, absl::Duration timeout) {
  return absl::DeadlineExceededError(
      absl::StrCat("key \"", key, "\" did not come within ", absl::FormatDuration(timeout)));
}

absl::Status MemoryStore::Set(absl::string_view key, absl::string_view value) {
  absl::MutexLock lock(&mutex_);
  if (!values_.emplace(key, value).second) return KeyExists(key);
  changed_.SignalAll();
  return absl::OkStatus();
}

absl::StatusOr<std::string> MemoryStore::Get(absl::string_view key, absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  absl::MutexLock lock(&mutex_);
  while (true) {
    if (const auto found = values_.find(key); found != values_.end()) return found->second;
    if (changed_.WaitWithDeadline(&mutex_, deadline)) {
      if (const auto found = values_.find(key); found != values_.end()) return found->second;
      return KeyNotInTime(key, timeout);
    }
  }
}

absl::StatusOr<std::string> MemoryStore::TryGet(absl::string_view key) {
  absl::MutexLock lock(&mutex_);
  const auto found = values_.find(key);
  if (found == values_.end()) return KeyNotFound(key);
  return found->second;
}

}  // namespace shoal

#include "launcher/store/memory_store.h"

#include "launcher/store/store_errors.h"

namespace shoal {

absl::Status MemoryStore::Set(absl::string_view key, absl::string_view value) {
  const std::lock_guard lock(mutex_);
  if (!values_.emplace(key, value).second) return KeyExists(key);
  changed_.notify_all();
  return absl::OkStatus();
}

absl::StatusOr<std::string> MemoryStore::Get(absl::string_view key, absl::Duration timeout) {
  std::unique_lock lock(mutex_);
  auto found = values_.end();
  const auto there = [&] { return (found = values_.find(key)) != values_.end(); };
  if (!changed_.wait_for(lock, absl::ToChronoMicroseconds(timeout), there)) return KeyNotInTime(key, timeout);
  return found->second;
}

absl::StatusOr<std::string> MemoryStore::TryGet(absl::string_view key) {
  const std::lock_guard lock(mutex_);
  const auto found = values_.find(key);
  if (found == values_.end()) return KeyNotFound(key);
  return found->second;
}

}  // namespace shoal

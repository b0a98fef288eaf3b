// CallbackStore: a KeyValueStore over functions that somebody else gives, such as the put, get and try-get
// callbacks with which a PJRT client is created. As thread-safe as they are; they outlive the store.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "core/base/key_value_store.h"

namespace shoal {

struct StoreCallbacks {
  std::function<absl::Status(absl::string_view key, absl::string_view value)> put;
  std::function<absl::StatusOr<std::string>(absl::string_view key, absl::Duration timeout)> get;
  // May be empty: then `get` is asked briefly.
  std::function<absl::StatusOr<std::string>(absl::string_view key)> try_get;
};

class CallbackStore : public KeyValueStore {
 public:
  // `prefix` is put before every key, for the functions may serve others too.
  explicit CallbackStore(StoreCallbacks callbacks, std::string prefix = "shoal/")
      : callbacks_(std::move(callbacks)), prefix_(std::move(prefix)) {}

  absl::Status Set(absl::string_view key, absl::string_view value) override;
  absl::StatusOr<std::string> Get(absl::string_view key, absl::Duration timeout) override;
  absl::StatusOr<std::string> TryGet(absl::string_view key) override;

 private:
  const StoreCallbacks callbacks_;
  const std::string prefix_;
};

}  // namespace shoal

// KeyValueStore: the port through which the processes of a job find each other and share small facts.
//
// launcher/store implements it (JAX's callbacks, files of one host, TCP, memory); collectives and plugin only
// use it. Keys are written once. Thread-safe. Failures are Unavailable (the store is gone), DeadlineExceeded
// (a key did not come in time: the message names it) or AlreadyExists.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace shoal {

class KeyValueStore {
 public:
  virtual ~KeyValueStore() = default;
  virtual absl::Status Set(absl::string_view key, absl::string_view value) = 0;
  // Waits for the key. Not for arena workers.
  virtual absl::StatusOr<std::string> Get(absl::string_view key, absl::Duration timeout) = 0;
  // NotFound at once if the key is not there yet.
  virtual absl::StatusOr<std::string> TryGet(absl::string_view key) = 0;
};

}  // namespace shoal

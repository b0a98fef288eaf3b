// FileStore: a KeyValueStore of files in a directory that all processes of the job share, one file a key.
//
// A value is written beside and linked into place, so that it is whole when it is seen and the first writer
// wins. Waiting looks again at short intervals. Thread-safe and process-safe; the directory outlives it.
#pragma once

#include <string>
#include <utility>

#include "core/base/key_value_store.h"

namespace shoal {

class FileStore : public KeyValueStore {
 public:
  explicit FileStore(std::string directory) : directory_(std::move(directory)) {}

  absl::Status Set(absl::string_view key, absl::string_view value) override;
  absl::StatusOr<std::string> Get(absl::string_view key, absl::Duration timeout) override;
  absl::StatusOr<std::string> TryGet(absl::string_view key) override;

 private:
  absl::StatusOr<std::string> PathOf(absl::string_view key) const;

  const std::string directory_;
};

}  // namespace shoal

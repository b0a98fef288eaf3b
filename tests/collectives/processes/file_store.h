// A KeyValueStore in a folder, for test processes of one host: a file a key, written aside and renamed into
// place.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "core/base/key_value_store.h"

namespace shoal {

class FileStore : public KeyValueStore {
 public:
  explicit FileStore(std::string folder) : folder_(std::move(folder)) {}
  absl::Status Set(absl::string_view key, absl::string_view value) override {
    const std::string path = PathOf(key), aside = absl::StrCat(path, ".new");
    std::ofstream(aside) << value;
    return rename(aside.c_str(), path.c_str()) == 0 ? absl::OkStatus() : absl::UnavailableError(path);
  }
  absl::StatusOr<std::string> Get(absl::string_view key, absl::Duration timeout) override {
    const absl::Time end = absl::Now() + timeout;
    while (true) {
      if (auto value = TryGet(key); value.ok()) return value;
      if (absl::Now() > end) return absl::DeadlineExceededError(absl::StrCat("no key ", key));
      absl::SleepFor(absl::Milliseconds(1));
    }
  }
  absl::StatusOr<std::string> TryGet(absl::string_view key) override {
    std::ifstream file(PathOf(key));
    if (!file) return absl::NotFoundError(key);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

 private:
  std::string PathOf(absl::string_view key) const {
    return absl::StrCat(folder_, "/", absl::StrReplaceAll(key, {{"/", "_"}}));
  }
  const std::string folder_;
};

}  // namespace shoal

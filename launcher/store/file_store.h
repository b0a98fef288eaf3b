// FileStore: a KeyValueStore in one file that the processes of a job on one host have open. The file may lose
// its name meanwhile: then the kernel removes it when the last of them has ended, however they end.
//
//   u64 end                                    of the entries that are whole; 0 where there are none yet
//   u32 size of key | u64 size of value | key | value        an entry, and so on
//
// Who writes holds a record lock on the file's first byte, which the kernel takes back from a process that
// dies, and moves `end`, which all have mapped, last: entries are whole when they are seen. Waiting looks
// again at short intervals. Thread-safe and process-safe. Record locks belong to processes: to open the same
// file otherwise and close it drops what this process has locked there.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "core/base/key_value_store.h"

namespace shoal {

class FileStore : public KeyValueStore {
 public:
  // Locks on bytes from here on are the caller's.
  static constexpr int64_t kFreeForLocks = int64_t{1} << 40;

  // Makes the file if there is none.
  static absl::StatusOr<std::unique_ptr<FileStore>> Open(const std::string& path);
  ~FileStore() override;
  FileStore(const FileStore&) = delete;
  FileStore& operator=(const FileStore&) = delete;

  int file() const { return file_; }

  // DeadlineExceeded where another process, stopped perhaps, stays at writing.
  absl::Status Set(absl::string_view key, absl::string_view value) override;
  absl::StatusOr<std::string> Get(absl::string_view key, absl::Duration timeout) override;
  absl::StatusOr<std::string> TryGet(absl::string_view key) override;

 private:
  struct Place {
    int64_t offset;
    uint64_t size;
  };

  FileStore(int file, uint64_t* end, std::string path) : file_(file), end_(end), path_(std::move(path)) {}
  absl::StatusOr<int64_t> ReadNewEntries();  // REQUIRES: mutex_ is held. Gives their end.
  absl::Status Append(int64_t at, absl::string_view key, absl::string_view value);
  absl::Status TakeTurn();
  void EndTurn();

  const int file_;
  uint64_t* const end_;     // mapped; atomic
  const std::string path_;  // for messages
  std::mutex mutex_;
  std::map<std::string, Place, std::less<>> places_;  // of values; guarded by mutex_
  int64_t read_ = sizeof(uint64_t);                   // up to here; guarded by mutex_
};

}  // namespace shoal

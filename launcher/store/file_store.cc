#include "launcher/store/file_store.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/status.h"
#include "launcher/store/store_errors.h"

namespace shoal {
namespace {

// To write an entry takes milliseconds.
constexpr absl::Duration kTurn = absl::Seconds(20);

constexpr int64_t kHeadBytes = sizeof(uint32_t) + sizeof(uint64_t);

// Record locks do not keep the threads of one process apart.
std::mutex& OneWriterHere() {
  static std::mutex* const mutex = new std::mutex;
  return *mutex;
}

absl::Status ReadAt(int file, int64_t offset, void* into, size_t count, absl::string_view path) {
  char* bytes = static_cast<char*>(into);
  while (count > 0) {
    const ssize_t n = pread(file, bytes, count, offset);
    if (n == 0) return absl::DataLossError(absl::StrCat("the job's store ", path, " is cut short"));
    if (n > 0) {
      bytes += n;
      offset += n;
      count -= n;
    } else if (errno != EINTR) {
      return SystemError("cannot read", path);
    }
  }
  return absl::OkStatus();
}

absl::Status WriteAt(int file, int64_t offset, absl::string_view bytes, absl::string_view path) {
  while (!bytes.empty()) {
    const ssize_t n = pwrite(file, bytes.data(), bytes.size(), offset);
    if (n >= 0) {
      bytes.remove_prefix(n);
      offset += n;
    } else if (errno != EINTR) {
      return SystemError("cannot write", path);
    }
  }
  return absl::OkStatus();
}

struct flock FirstByte(short type) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  return lock;
}

}  // namespace

absl::StatusOr<std::unique_ptr<FileStore>> FileStore::Open(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return SystemError("cannot open", path);
  // This never makes a file shorter, whoever else is just opening it or writes already.
  errno = posix_fallocate(file, 0, sizeof(uint64_t));
  if (errno != 0) {
    absl::Status status = SystemError(
        "there is no room for the file in which the job's processes meet; make some beside", path);
    close(file);
    return status;
  }
  void* const mapped = mmap(nullptr, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) {
    absl::Status status = SystemError("cannot map", path);
    close(file);
    return status;
  }
  return std::unique_ptr<FileStore>(new FileStore(file, static_cast<uint64_t*>(mapped), path));
}

FileStore::~FileStore() {
  // Closing would take the turn away from another store of this file in this process.
  const std::lock_guard<std::mutex> writing(OneWriterHere());
  munmap(end_, sizeof(*end_));
  close(file_);
}

absl::Status FileStore::TakeTurn() {
  const absl::Time deadline = absl::Now() + kTurn;
  struct flock lock = FirstByte(F_WRLCK);
  while (fcntl(file_, F_SETLK, &lock) != 0) {
    if (errno != EAGAIN && errno != EACCES && errno != EINTR) return SystemError("cannot lock", path_);
    if (absl::Now() > deadline) {
      struct flock other = FirstByte(F_WRLCK);
      fcntl(file_, F_GETLK, &other);
      return absl::DeadlineExceededError(absl::StrCat("process with pid ", other.l_pid,
                                                      " has been writing to the job's store ", path_, " for ",
                                                      absl::FormatDuration(kTurn), ": it may be stopped"));
    }
    absl::SleepFor(absl::Microseconds(100));
  }
  return absl::OkStatus();
}

void FileStore::EndTurn() {
  struct flock lock = FirstByte(F_UNLCK);
  fcntl(file_, F_SETLK, &lock);
}

absl::StatusOr<int64_t> FileStore::ReadNewEntries() {
  const auto end = static_cast<int64_t>(std::atomic_ref<uint64_t>(*end_).load(std::memory_order_acquire));
  while (read_ < end) {
    char head[kHeadBytes];
    SHOAL_RETURN_IF_ERROR(ReadAt(file_, read_, head, sizeof(head), path_));
    uint32_t key_size;
    uint64_t value_size;
    std::memcpy(&key_size, head, sizeof(key_size));
    std::memcpy(&value_size, head + sizeof(key_size), sizeof(value_size));
    const int64_t left = end - read_ - kHeadBytes;
    if (key_size > left || value_size > static_cast<uint64_t>(left - key_size)) {
      return absl::DataLossError(absl::StrCat("the job's store ", path_, " is damaged at byte ", read_));
    }
    std::string key(key_size, '\0');
    SHOAL_RETURN_IF_ERROR(ReadAt(file_, read_ + kHeadBytes, key.data(), key.size(), path_));
    const int64_t value = read_ + kHeadBytes + key_size;
    places_.emplace(std::move(key), Place{value, value_size});
    read_ = value + static_cast<int64_t>(value_size);
  }
  return read_;
}

absl::Status FileStore::Append(int64_t at, absl::string_view key, absl::string_view value) {
  const uint32_t key_size = static_cast<uint32_t>(key.size());
  const uint64_t value_size = value.size();
  std::string front(reinterpret_cast<const char*>(&key_size), sizeof(key_size));
  front.append(reinterpret_cast<const char*>(&value_size), sizeof(value_size));
  front.append(key.data(), key.size());
  SHOAL_RETURN_IF_ERROR(WriteAt(file_, at, front, path_));
  SHOAL_RETURN_IF_ERROR(WriteAt(file_, at + static_cast<int64_t>(front.size()), value, path_));
  std::atomic_ref<uint64_t>(*end_).store(at + front.size() + value.size(), std::memory_order_release);
  return absl::OkStatus();
}

absl::Status FileStore::Set(absl::string_view key, absl::string_view value) {
  const std::lock_guard<std::mutex> writing(OneWriterHere());
  SHOAL_RETURN_IF_ERROR(TakeTurn());
  const absl::Status status = [&]() -> absl::Status {
    std::unique_lock<std::mutex> lock(mutex_);
    SHOAL_ASSIGN_OR_RETURN(const int64_t end, ReadNewEntries());
    if (places_.find(key) != places_.end()) return KeyExists(key);
    lock.unlock();  // whoever only reads need not wait for the bytes of a large value
    return Append(end, key, value);
  }();
  EndTurn();
  return status;
}

absl::StatusOr<std::string> FileStore::TryGet(absl::string_view key) {
  Place place;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    SHOAL_RETURN_IF_ERROR(ReadNewEntries().status());
    const auto found = places_.find(key);
    if (found == places_.end()) return KeyNotFound(key);
    place = found->second;
  }
  std::string value(place.size, '\0');
  SHOAL_RETURN_IF_ERROR(ReadAt(file_, place.offset, value.data(), value.size(), path_));
  return value;
}

absl::StatusOr<std::string> FileStore::Get(absl::string_view key, absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  absl::Duration pause = absl::Microseconds(100);
  while (true) {
    absl::StatusOr<std::string> value = TryGet(key);
    if (!absl::IsNotFound(value.status())) return value;
    if (absl::Now() >= deadline) return KeyNotInTime(key, timeout);
    absl::SleepFor(std::min(pause, deadline - absl::Now()));
    pause = std::min(pause * 1.5, absl::Milliseconds(5));
  }
}

}  // namespace shoal

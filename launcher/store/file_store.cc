#include "launcher/store/file_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/status.h"
#include "launcher/store/memory_store.h"

namespace shoal {
namespace {

constexpr size_t kLongestName = 255;  // of a file, in bytes (NAME_MAX)

absl::Status SystemError(absl::string_view what, absl::string_view path) {
  return absl::UnavailableError(absl::StrCat(what, " ", path, ": ", std::strerror(errno)));
}

// Into a new file of its own: `path` ends in XXXXXX, which becomes what no other thread or process has.
absl::Status WriteNewFile(std::string& path, absl::string_view value) {
  const int file = mkostemp(path.data(), O_CLOEXEC);
  if (file < 0) return SystemError("cannot make", path);
  absl::Status status;
  while (!value.empty() && status.ok()) {
    const ssize_t n = write(file, value.data(), value.size());
    if (n >= 0) {
      value.remove_prefix(n);
    } else if (errno != EINTR) {
      status = SystemError("cannot write", path);
    }
  }
  close(file);
  return status;
}

absl::StatusOr<std::string> ReadFile(int file, absl::string_view path) {
  struct stat info;
  if (fstat(file, &info) != 0) return SystemError("cannot read", path);
  std::string value(info.st_size, '\0');
  size_t done = 0;
  while (done < value.size()) {
    const ssize_t n = read(file, value.data() + done, value.size() - done);
    if (n == 0) break;
    if (n > 0) {
      done += n;
    } else if (errno != EINTR) {
      return SystemError("cannot read", path);
    }
  }
  value.resize(done);
  return value;
}

}  // namespace

// "key." and the key, with every byte that is no letter, digit, '-', '_' or '.' as %XX.
absl::StatusOr<std::string> FileStore::PathOf(absl::string_view key) const {
  std::string name = "key.";
  for (const char c : key) {
    if (absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.') {
      name += c;
    } else {
      absl::StrAppend(&name, "%", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
    }
  }
  if (name.size() > kLongestName) {
    return absl::InvalidArgumentError(
        absl::StrCat("a key of ", key.size(), " bytes is too long for a file's name: ", key));
  }
  return absl::StrCat(directory_, "/", name);
}

absl::Status FileStore::Set(absl::string_view key, absl::string_view value) {
  SHOAL_ASSIGN_OR_RETURN(const std::string path, PathOf(key));
  std::string beside = absl::StrCat(directory_, "/new.XXXXXX");
  absl::Status status = WriteNewFile(beside, value);
  if (status.ok() && link(beside.c_str(), path.c_str()) != 0) {
    status = errno == EEXIST ? KeyExists(key) : SystemError("cannot make", path);
  }
  unlink(beside.c_str());
  return status;
}

absl::StatusOr<std::string> FileStore::TryGet(absl::string_view key) {
  SHOAL_ASSIGN_OR_RETURN(const std::string path, PathOf(key));
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    // A directory that is gone means that the job has ended without us.
    if (errno == ENOENT && access(directory_.c_str(), F_OK) == 0) return KeyNotFound(key);
    return SystemError("the job's store is gone: cannot open", path);
  }
  absl::StatusOr<std::string> value = ReadFile(file, path);
  close(file);
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

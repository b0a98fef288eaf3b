#include "launcher/store/host_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/status.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

constexpr absl::Duration kRetry = absl::Milliseconds(20);
// A directory without a living process may be one that is being entered; nobody needs longer than this for
// that.
constexpr absl::Duration kStale = absl::Minutes(1);

absl::Status SystemError(absl::string_view what, absl::string_view path) {
  return absl::UnavailableError(absl::StrCat(what, " ", path, ": ", std::strerror(errno)));
}

// Where the directories of all jobs of this user are. /dev/shm is memory: nothing is written to a disk.
absl::StatusOr<std::string> Root() {
  const char* temporary = std::getenv("TMPDIR");
  const std::string name = absl::StrCat("shoal-", getuid());
  for (const char* parent : {"/dev/shm", temporary, "/tmp"}) {
    if (parent == nullptr || access(parent, W_OK | X_OK) != 0) continue;
    std::string root = absl::StrCat(parent, "/", name);
    if (mkdir(root.c_str(), 0700) != 0 && errno != EEXIST) continue;
    struct stat info;
    // Somebody else may have made a directory of that name to read or change our store.
    if (lstat(root.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == getuid()) return root;
  }
  return absl::UnavailableError(absl::StrCat(
      "no directory for the job's files: none of /dev/shm, TMPDIR and /tmp lets this user keep ", name));
}

// Guards entering and leaving on this host, so that "nobody is alive here" stays true while it is acted on.
class RootLock {
 public:
  static absl::StatusOr<RootLock> Take(const std::string& root, absl::Time deadline) {
    const std::string path = absl::StrCat(root, "/lock");
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return SystemError("cannot open", path);
    RootLock lock(file);
    while (flock(file, LOCK_EX | LOCK_NB) != 0) {
      if (absl::Now() > deadline) return absl::DeadlineExceededError(absl::StrCat(path, " stays locked"));
      absl::SleepFor(absl::Milliseconds(1));
    }
    return lock;
  }
  RootLock(RootLock&& other) : file_(std::exchange(other.file_, -1)) {}
  ~RootLock() {
    if (file_ >= 0) close(file_);
  }

 private:
  explicit RootLock(int file) : file_(file) {}
  int file_;
};

std::string ProcessFile(absl::string_view directory, ProcessId process) {
  return absl::StrCat(directory, "/process.", process.value());
}
std::string LeftFile(absl::string_view directory, ProcessId process) {
  return absl::StrCat(directory, "/left.", process.value());
}
bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

// Whether another process holds the lock on this file.
bool IsHeld(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return false;
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  const bool held = fcntl(file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  close(file);
  return held;
}

bool AnyoneAlive(const std::string& directory) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    if (absl::StartsWith(entry.path().filename().string(), "process.") && IsHeld(entry.path())) return true;
  }
  return false;
}

// What jobs left behind whose processes all died.
void SweepStale(const std::string& root) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(root, error)) {
    struct stat info;
    if (stat(entry.path().c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) continue;
    if (absl::Now() - absl::FromTimeT(info.st_mtime) < kStale || AnyoneAlive(entry.path())) continue;
    fs::remove_all(entry.path(), error);
  }
}

// Our own file, locked; -1 where a process of this number is, or was, in the job. REQUIRES: the root is
// locked.
absl::StatusOr<int> TakePlace(const std::string& directory, ProcessId self) {
  std::error_code error;
  if (!AnyoneAlive(directory)) fs::remove_all(directory, error);
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) return SystemError("cannot make", directory);
  const std::string path = ProcessFile(directory, self);
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0 && errno == EEXIST) return -1;
  if (file < 0) return SystemError("cannot make", path);
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (fcntl(file, F_SETLK, &lock) != 0) {
    close(file);
    return SystemError("cannot lock", path);
  }
  return file;
}

}  // namespace

absl::StatusOr<std::unique_ptr<HostDirectory>> HostDirectory::Enter(absl::string_view job, ProcessId self,
                                                                    absl::Duration timeout) {
  SHOAL_ASSIGN_OR_RETURN(const std::string root, Root());
  auto directory =
      std::unique_ptr<HostDirectory>(new HostDirectory(root, absl::StrCat(root, "/", job), self));
  const absl::Time deadline = absl::Now() + timeout;
  while (true) {
    {
      SHOAL_ASSIGN_OR_RETURN(RootLock lock, RootLock::Take(root, deadline));
      SweepStale(root);
      SHOAL_ASSIGN_OR_RETURN(directory->lock_, TakePlace(directory->path_, self));
    }
    directory->pid_ = getpid();
    if (directory->lock_ >= 0) return directory;
    // The processes of a job of the same name may still be ending.
    if (absl::Now() > deadline) {
      const bool runs = IsHeld(ProcessFile(directory->path_, self));
      return absl::AlreadyExistsError(absl::StrCat(
          "process ", self.value(), " of this job ", runs ? "runs already" : "has been here and ended",
          ": it was started twice, or inherited the launcher's variables from another process of the job, or "
          "two jobs have one name (",
          directory->path_, "); give each job its own SHOAL_JOB"));
    }
    absl::SleepFor(kRetry);
  }
}

HostDirectory::~HostDirectory() {
  if (lock_ < 0 || pid_ != getpid()) return;
  if (const int left = open(LeftFile(path_, self_).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600); left >= 0)
    close(left);
  const absl::StatusOr<RootLock> lock = RootLock::Take(root_, absl::Now() + absl::Seconds(1));
  close(lock_);
  std::error_code error;
  if (lock.ok() && !AnyoneAlive(path_)) fs::remove_all(path_, error);
}

Presence HostDirectory::Look(ProcessId process) const {
  if (process == self_) return Presence::kPresent;  // opening and closing our own file would drop our lock
  const std::string path = ProcessFile(path_, process);
  if (IsHeld(path)) return Presence::kPresent;
  if (Exists(LeftFile(path_, process))) return Presence::kLeft;
  return Exists(path) ? Presence::kDied : Presence::kNotYet;
}

}  // namespace shoal

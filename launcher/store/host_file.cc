#include "launcher/store/host_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "core/base/status.h"
#include "launcher/store/store_errors.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

constexpr absl::Duration kRetry = absl::Milliseconds(20);
constexpr absl::string_view kLockName = "lock";

// Where the files of all jobs of this user are. /dev/shm is memory: nothing is written to a disk.
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

// Whether `path` is (still) the name of the open file.
bool IsNameOf(const std::string& path, int file) {
  struct stat named, opened;
  return stat(path.c_str(), &named) == 0 && fstat(file, &opened) == 0 && named.st_ino == opened.st_ino &&
         named.st_dev == opened.st_dev;
}

// " by process 42", who has a lock on all of the file as the kernel lists them; nothing if that is not known.
std::string ByWhom(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return "";
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    // 1: FLOCK  ADVISORY  WRITE 42 00:19:3 0 EOF
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.size() < 6 || words[1] != "FLOCK") continue;
    if (absl::EndsWith(words[5], absl::StrCat(":", info.st_ino)))
      return absl::StrCat(" by process ", words[4]);
  }
  return "";
}

// Guards entering and leaving on this host, so that "nobody is alive here" stays true while it is acted on.
// Whoever lets go of it removes it, and the root, if no job needs them.
class RootLock {
 public:
  static absl::StatusOr<RootLock> Take(absl::Time deadline) {
    while (true) {
      SHOAL_ASSIGN_OR_RETURN(const std::string root, Root());
      const std::string path = absl::StrCat(root, "/", kLockName);
      const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
      if (file < 0 && errno != ENOENT) return SystemError("cannot open", path);
      RootLock lock(file, root);
      // ENOENT, or a lock that has no name any more: somebody has just removed both.
      if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0 && IsNameOf(path, file)) return lock;
      lock.LetGo();
      if (absl::Now() > deadline) {
        return absl::DeadlineExceededError(absl::StrCat(path, " stays locked", ByWhom(path),
                                                        "; a process holds it for a moment when it enters or "
                                                        "leaves a job: one that was stopped just then "
                                                        "keeps all others out"));
      }
      absl::SleepFor(absl::Milliseconds(1));
    }
  }
  RootLock(RootLock&& other) noexcept
      : file_(std::exchange(other.file_, -1)), root_(std::move(other.root_)) {}
  ~RootLock() {
    if (file_ < 0) return;
    if (IsEmpty()) {
      unlink(absl::StrCat(root_, "/", kLockName).c_str());
      rmdir(root_.c_str());
    }
    LetGo();
  }

  const std::string& root() const { return root_; }

 private:
  RootLock(int file, std::string root) : file_(file), root_(std::move(root)) {}
  void LetGo() {
    if (file_ < 0) return;
    flock(file_, LOCK_UN);  // closing it is not enough if a child was forked off meanwhile, which has it too
    close(std::exchange(file_, -1));
  }
  bool IsEmpty() const {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(root_, error)) {
      if (entry.path().filename() != std::string(kLockName)) return false;
    }
    return !error;
  }

  int file_;
  std::string root_;
};

int64_t ByteOf(ProcessId process) { return FileStore::kFreeForLocks + process.value(); }

// On `count` bytes; 0: all from `first` on.
struct flock LockOn(int64_t first, int64_t count) {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = first;
  lock.l_len = count;
  return lock;
}

// Whether another process holds a lock on one of these bytes.
bool IsHeld(int file, int64_t first, int64_t count) {
  struct flock lock = LockOn(first, count);
  return fcntl(file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool AnyoneAlive(int file) { return IsHeld(file, FileStore::kFreeForLocks, 0); }

std::string EnteredKey(ProcessId process) { return absl::StrCat("entered/", process.value()); }
std::string LeftKey(ProcessId process) { return absl::StrCat("left/", process.value()); }

// Removes the files, but for `own`, of jobs whose processes have all died. REQUIRES: the root is locked.
void RemoveDead(const std::string& root, const std::string& own) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(root, error)) {
    if (entry.path().filename() == std::string(kLockName) || entry.path() == own) continue;
    const int file = open(entry.path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) continue;
    if (!AnyoneAlive(file)) unlink(entry.path().c_str());
    close(file);
  }
}

}  // namespace

absl::StatusOr<bool> HostFile::TakePlace(absl::string_view job, int process_count) {
  if (claim_.Claim(job, self_) != 0) return false;
  SHOAL_ASSIGN_OR_RETURN(store_, FileStore::Open(path_));
  if (!AnyoneAlive(store_->file())) {
    unlink(path_.c_str());
    SHOAL_ASSIGN_OR_RETURN(store_, FileStore::Open(path_));
  }
  if (store_->TryGet(EnteredKey(self_)).ok()) return false;
  struct flock lock = LockOn(ByteOf(self_), 1);
  if (fcntl(store_->file(), F_SETLK, &lock) != 0) return SystemError("cannot lock", path_);
  // After the lock: who looks now must not take us for dead.
  SHOAL_RETURN_IF_ERROR(store_->Set(EnteredKey(self_), ""));
  // The number may be any that a user made up, and all other jobs of the host wait meanwhile.
  int entered = 0;
  while (entered < process_count && store_->TryGet(EnteredKey(ProcessId(entered))).ok()) ++entered;
  if (entered == process_count) unlink(path_.c_str());
  return true;
}

absl::StatusOr<std::unique_ptr<HostFile>> HostFile::Enter(absl::string_view job, ProcessId self,
                                                          int process_count, absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  while (true) {
    std::unique_ptr<HostFile> entering;
    {
      SHOAL_ASSIGN_OR_RETURN(const RootLock lock, RootLock::Take(deadline));
      entering.reset(new HostFile(absl::StrCat(lock.root(), "/", job), self));
      RemoveDead(lock.root(), entering->path_);
      SHOAL_ASSIGN_OR_RETURN(const bool entered, entering->TakePlace(job, process_count));
      if (entered) {
        entering->pid_ = getpid();
        return entering;
      }
    }
    // The processes of a job of the same name may still be ending.
    if (absl::Now() > deadline) {
      const bool runs = entering->store_ == nullptr || entering->Look(self) == Presence::kPresent;
      return absl::AlreadyExistsError(absl::StrCat(
          "process ", self.value(), " of this job ", runs ? "runs already" : "has been here and ended",
          ": it was started twice, or inherited the launcher's variables from another process of the job, or "
          "two jobs have one name (",
          job,
          "); give each job its own SHOAL_JOB, and a program that one of its processes starts "
          "SHOAL_NUM_PROCESSES=1"));
    }
    absl::SleepFor(kRetry);
  }
}

HostFile::~HostFile() {
  if (pid_ == 0) return;
  if (pid_ != getpid()) {
    // Closing waits for writers, and a thread that wrote when this child was forked off is not here to end
    // it.
    (void)store_.release();
    return;
  }
  store_->Set(LeftKey(self_), "").IgnoreError();
  const absl::StatusOr<RootLock> lock = RootLock::Take(absl::Now() + absl::Seconds(1));
  // No lock is held by now of whoever has died meanwhile, and our own is not seen by us.
  if (lock.ok() && IsNameOf(path_, store_->file()) && !AnyoneAlive(store_->file())) unlink(path_.c_str());
  store_.reset();
}

Presence HostFile::Look(ProcessId process) const {
  if (process == self_ && pid_ == getpid()) return Presence::kPresent;
  if (IsHeld(store_->file(), ByteOf(process), 1)) return Presence::kPresent;
  if (store_->TryGet(LeftKey(process)).ok()) return Presence::kLeft;
  return store_->TryGet(EnteredKey(process)).ok() ? Presence::kDied : Presence::kNotYet;
}

}  // namespace shoal

#include "core/memory/shared_pages.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"

namespace shoal {
namespace {

// The file is as large as this many times the machine's memory, so that holes in it do no harm: pages come
// with their first use. All processes' files together are to fit into half of an address space.
constexpr int64_t kTimesMemory = 4;
constexpr int64_t kAddressSpace = int64_t{1} << 46;

std::atomic<SharedPages*> instance{nullptr};

int64_t RoundUpToLargePage(int64_t bytes) {
  constexpr int64_t kLargePage = SharedPages::kLargePage;
  return (bytes + kLargePage - 1) / kLargePage * kLargePage;
}

// A file of a tmpfs that is mounted nowhere and gives large pages to whom madvise asks for; -1 with errno.
int OpenLargePagesFile() {
  const int context = static_cast<int>(syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC));
  if (context < 0) return -1;
  int mount = -1, file = -1;
  // Without a size of its own: the machine's memory and cgroup are the limit, as for other memory.
  const bool good = syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, "huge", "advise", 0) == 0 &&
                    syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, "size", "0", 0) == 0 &&
                    syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0;
  if (good) mount = static_cast<int>(syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0));
  if (mount >= 0) file = openat(mount, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  const int why = errno;
  if (mount >= 0) close(mount);
  close(context);
  errno = why;
  return file;
}

void WriteText(const char* path, const char* text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = write(file, text, std::strlen(text));
  close(file);
}

// As above for who may not mount: a child process makes a user namespace, where it may, and leaves the file
// in the descriptors that it shares with this process. Only system calls in it, for other threads of this
// process may hold any lock.
int OpenLargePagesFileInNamespace() {
  const std::string user = absl::StrCat(getuid(), " ", getuid(), " 1");
  const std::string group = absl::StrCat(getgid(), " ", getgid(), " 1");
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  int file = -1;
  // No exit signal: nobody else in this process is told of the child, or waits for it by mistake.
  const pid_t child = static_cast<pid_t>(syscall(SYS_clone, CLONE_FILES, 0, 0, 0, 0));
  if (child == 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) {
      WriteText("/proc/self/setgroups", "deny");
      WriteText("/proc/self/uid_map", user.c_str());
      WriteText("/proc/self/gid_map", group.c_str());
      file = OpenLargePagesFile();
    }
    [[maybe_unused]] const ssize_t written = write(ends[1], &file, sizeof(file));
    _exit(0);
  }
  if (child > 0) {
    while (waitpid(child, nullptr, __WCLONE) < 0 && errno == EINTR) {
    }
    // What it wrote lies in the pipe; nothing, if it was killed.
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    if (read(ends[0], &file, sizeof(file)) != sizeof(file)) file = -1;
  }
  close(ends[0]);
  close(ends[1]);
  if (file < 0) errno = EPERM;
  return file;
}

// `size` bytes of the file at a multiple of a large page; null if that fails.
char* MapAtLargePage(int fd, int64_t size, int protection) {
  const int64_t reserved = size + static_cast<int64_t>(SharedPages::kLargePage);
  void* raw = mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  char* begin = static_cast<char*>(raw);
  char* aligned =
      reinterpret_cast<char*>(RoundUpToLargePage(static_cast<int64_t>(reinterpret_cast<uintptr_t>(raw))));
  if (mmap(aligned, size, protection, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0) == MAP_FAILED) {
    munmap(raw, reserved);
    return nullptr;
  }
  if (aligned != begin) munmap(begin, aligned - begin);
  if (aligned + size != begin + reserved) munmap(aligned + size, begin + reserved - (aligned + size));
  return aligned;
}

// In a child that was forked off: from here on what it writes there and gives back is its own, not its
// parent's arrays.
void MapPrivately() {
  const SharedPages* pages = SharedPages::Get();
  mmap(pages->base(), pages->size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED,
       pages->fd(), 0);
}

}  // namespace

SharedPages::SharedPages(int fd, char* base, int64_t size) : fd_(fd), base_(base), size_(size) {
  free_.emplace(0, size);
}

SharedPages* SharedPages::Get() { return instance.load(std::memory_order_acquire); }

SharedPages* SharedPages::Enable(int processes) {
  static std::once_flag once;
  std::call_once(once, [processes] {
    const int64_t memory = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
    const int64_t size =
        RoundUpToLargePage(std::min(memory * kTimesMemory, kAddressSpace / std::max(processes, 1)));
    int fd = OpenLargePagesFile();
    if (fd < 0) fd = OpenLargePagesFileInNamespace();
    char* base = nullptr;
    if (fd >= 0 && ftruncate(fd, size) == 0) base = MapAtLargePage(fd, size, PROT_READ | PROT_WRITE);
    if (base == nullptr) {
      SHOAL_LOG_AT(1) << "no large pages that processes can share (" << std::strerror(errno)
                      << "); they copy from each other's memory instead of reading it in place";
      if (fd >= 0) close(fd);
      return;
    }
    instance.store(new SharedPages(fd, base, size), std::memory_order_release);
    pthread_atfork(nullptr, nullptr, MapPrivately);
  });
  return Get();
}

void* SharedPages::Map(size_t bytes) {
  const int64_t wanted = RoundUpToLargePage(static_cast<int64_t>(bytes));
  char* block = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto fits = [wanted](const auto& range) { return range.second >= wanted; };
    const auto it = std::find_if(free_.begin(), free_.end(), fits);
    if (it == free_.end()) return nullptr;
    const auto [begin, length] = *it;
    free_.erase(it);
    if (length > wanted) free_.emplace(begin + wanted, length - wanted);
    block = base_ + begin;
  }
  madvise(block, wanted, bytes >= kLargePage ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  return block;
}

void SharedPages::Unmap(void* block, size_t bytes) {
  int64_t begin = static_cast<char*>(block) - base_;
  int64_t length = RoundUpToLargePage(static_cast<int64_t>(bytes));
  madvise(block, length, MADV_REMOVE);
  std::lock_guard<std::mutex> lock(mutex_);
  auto next = free_.lower_bound(begin);
  if (next != free_.end() && next->first == begin + length) {
    length += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    if (const auto before = std::prev(next); before->first + before->second == begin) {
      before->second += length;
      return;
    }
  }
  free_.emplace(begin, length);
}

const char* MapSharedPages(int fd, int64_t size) {
  char* base = MapAtLargePage(fd, size, PROT_READ);
  if (base != nullptr) madvise(base, size, MADV_HUGEPAGE);
  return base;
}

}  // namespace shoal

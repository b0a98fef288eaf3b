// SharedPages: memory of this process that the other processes of its host can map, so that they read its
// arrays where they lie. A file without a name, of large pages; blocks of it are handed out by Allocator
// instead of anonymous memory.
//
// Enabled only where the system gives large pages to shared memory: arrays in small pages would make
// every kernel slower. Linux's setting for memfd (transparent_hugepage/shmem_enabled) is "never" by default,
// but a tmpfs of our own, mounted nowhere, may have them; who may not mount does so in a user namespace.
//
// Four processes on two busy cores, 32 MiB, milliseconds of processor time in each, beside reading by
// process_vm_readv in the same runs: all-reduce 6.4 and 8.2 (11 and 19), reduce-scatter 3.9 (7.7 and 8.5),
// permute 3.3 and 3.6 (6.4 and 6.6), all-to-all 3.9 and 4.4 (6.1 and 6.7), all-gather 5.3 (7.0 and 19); of
// 1 MiB 0.3 to 0.6 (0.4 to 0.9).
//
// A child that is forked off has a copy of it, as of any memory; what it does there its parent does not see.
//
// One a process, never destroyed: nothing is left once the process, and those that mapped it, have ended.
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace shoal {

class SharedPages {
 public:
  static constexpr size_t kLargePage = size_t{2} << 20;

  // Called before there are arrays, by who will tell other processes: `processes` share this host's address
  // space for such memory. Null where the system does not give it; the same answer at each call.
  static SharedPages* Enable(int processes);
  // Null if it is not enabled.
  static SharedPages* Get();

  // Fresh memory at a multiple of kLargePage, `bytes` a multiple of 4096; null if there is none.
  void* Map(size_t bytes);
  // Gives the memory back to the system. Whoever reads it elsewhere reads zeros then.
  void Unmap(void* block, size_t bytes);
  bool Holds(const void* block) const {
    const char* byte = static_cast<const char*>(block);
    return byte >= base_ && byte < base_ + size_;
  }

  // What others need to map it: the file, of `size` bytes, that lies at `base` here.
  int fd() const { return fd_; }
  char* base() const { return base_; }
  int64_t size() const { return size_; }

 private:
  SharedPages(int fd, char* base, int64_t size);

  const int fd_;
  char* const base_;
  const int64_t size_;
  std::mutex mutex_;
  std::map<int64_t, int64_t> free_;  // where each unused range begins, and how long it is; guarded by mutex_
};

// Another process's, or any, file mapped to be read, at a multiple of kLargePage; null if that fails.
const char* MapSharedPages(int fd, int64_t size);

}  // namespace shoal

// HostFile: a file in memory (/dev/shm) that the processes of a job on one host share: their store, and where
// each shows that it is alive.
//
// A process is alive while it holds the POSIX lock on its own byte of the file: the kernel drops that lock
// when the process ends, however it ends, and children of a fork do not have it. A process that leaves in
// order says so in the store first. Once all processes have entered, the file has no name any more, so
// nothing is left of it when they have ended, be it by SIGKILL; what a job leaves that dies before, the next
// job to enter removes. Works across PID namespaces that share the directory. Thread-safe. Record locks
// belong to processes, so a process does not see its own: one of a name in a process, and one at a time until
// all have entered.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/base/ids.h"
#include "launcher/store/file_store.h"
#include "launcher/store/process_claim.h"

namespace shoal {

enum class Presence { kNotYet, kPresent, kLeft, kDied };

class HostFile {
 public:
  // Enters `job`, which has `process_count` processes, all on this host, as `self`. AlreadyExists where a
  // process of that number is there and stays there until `timeout`; Unavailable where no file can be made.
  static absl::StatusOr<std::unique_ptr<HostFile>> Enter(absl::string_view job, ProcessId self,
                                                         int process_count, absl::Duration timeout);
  // Leaves in order.
  ~HostFile();
  HostFile(const HostFile&) = delete;
  HostFile& operator=(const HostFile&) = delete;

  const std::string& path() const { return path_; }
  FileStore* store() const { return store_.get(); }
  Presence Look(ProcessId process) const;

 private:
  HostFile(std::string path, ProcessId self) : path_(std::move(path)), self_(self) {}

  // False where a process of this number is, or was, in the job. REQUIRES: the root is locked.
  absl::StatusOr<bool> TakePlace(absl::string_view job, int process_count);

  const std::string path_;  // while not all have entered
  const ProcessId self_;
  ProcessClaim claim_;
  std::unique_ptr<FileStore> store_;
  pid_t pid_ = 0;  // that entered: a child of a fork has this object, but is not the process
};

}  // namespace shoal

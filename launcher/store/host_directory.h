// HostDirectory: a directory in memory (/dev/shm) that the processes of a job on one host share: where their
// store keeps its files, and where each shows that it is alive.
//
// A process is alive while it holds the POSIX lock on its own file "process.N": the kernel drops that lock
// when the process ends, however it ends, and children of a fork do not have it. A process that leaves in
// order writes "left.N" first. The last one removes the directory; what dead jobs left behind is removed by
// the next job to enter. Works across PID namespaces that share the directory. Thread-safe. One of a name in
// a process: record locks belong to processes, so this one could not see itself.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/base/ids.h"

namespace shoal {

enum class Presence { kNotYet, kPresent, kLeft, kDied };

class HostDirectory {
 public:
  // Enters the directory of `job` as `self`. AlreadyExists where a process of that number is there and stays
  // there until `timeout`; Unavailable where no directory can be made.
  static absl::StatusOr<std::unique_ptr<HostDirectory>> Enter(absl::string_view job, ProcessId self,
                                                              absl::Duration timeout);
  // Leaves in order.
  ~HostDirectory();
  HostDirectory(const HostDirectory&) = delete;
  HostDirectory& operator=(const HostDirectory&) = delete;

  const std::string& path() const { return path_; }
  Presence Look(ProcessId process) const;

 private:
  HostDirectory(std::string root, std::string path, ProcessId self) : root_(root), path_(path), self_(self) {}

  const std::string root_;  // holds the directories of all jobs of this user
  const std::string path_;
  const ProcessId self_;
  int lock_ = -1;  // our own file; its lock is what the others see
  pid_t pid_ = 0;  // that entered: a child of a fork has this object, but is not the process
};

}  // namespace shoal

// ProcessClaim: says on this host that a process is number N of a job, for as long as it lives, and leaves
// nothing behind: the name of a listening socket in Linux's abstract namespace, which belongs to a network
// namespace. It finds the process that was started twice, or that inherited its parent's number, when the
// others have all come.
#pragma once

#include <sys/types.h>

#include "absl/strings/string_view.h"
#include "core/base/ids.h"

namespace shoal {

class ProcessClaim {
 public:
  static constexpr pid_t kUnknown = -1;

  ProcessClaim() = default;
  ~ProcessClaim();
  ProcessClaim(const ProcessClaim&) = delete;
  ProcessClaim& operator=(const ProcessClaim&) = delete;

  // The other living process that has claimed it (kUnknown once thousands have asked), or 0: then it is
  // claimed here, where the system lets us. A child that a dead process has forked off may have its socket
  // still; that is nobody.
  pid_t Claim(absl::string_view job, ProcessId process);

 private:
  int socket_ = -1;
};

}  // namespace shoal

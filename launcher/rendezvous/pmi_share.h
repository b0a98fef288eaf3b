// PmiShare: hands a text of process 0 to all processes of a job through the launcher, by PMI's first
// protocol, which MPICH's and Intel's mpiexec speak: how processes on several hosts find process 0 where no
// MPI of theirs is there.
//
// The launcher listens on the descriptor PMI_FD; lines of "key=value" words go there and back. An MPI that
// starts in this process later, or has started before, uses the same descriptor at its start and end only.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace shoal {

// Collective over all processes. `text` counts in process 0; it has no white space. DeadlineExceeded if
// others do not come within `timeout`, Unavailable if the launcher says no.
absl::StatusOr<std::string> PmiShare(int file, int process, absl::string_view key, absl::string_view text,
                                     absl::Duration timeout);

}  // namespace shoal

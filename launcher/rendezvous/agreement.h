// Agree: one answer to "how many processes, and which is this?" from what the caller says (jax.distributed)
// and what the environment says (mpirun). A pure function.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "core/base/ids.h"
#include "launcher/cluster/cluster.h"
#include "launcher/rendezvous/job.h"

namespace shoal {

struct Place {
  ProcessId process;
  int process_count = 1;
  // Where the store and the hosts come from: the environment's word, if it is the one that was followed.
  std::optional<Cluster> cluster;
};

// InvalidArgument naming both sides where they disagree, and where the caller says that there are several
// processes but nobody has a way to reach them.
absl::StatusOr<Place> Agree(const JobOptions& options, const std::optional<Cluster>& cluster);

}  // namespace shoal

// Cluster: what the environment says of the job that this process belongs to: how many processes, which one
// this is.
//
// One file an environment (open_mpi.cc, slurm.cc, ...), each answering the same questions from variables
// alone: nothing is started, no library is loaded, no file is read. kEnvironments (cluster.cc) is the list,
// in the order in which they are tried. Pure functions of `Variables` and, for pmi.cc, of the socket that one
// of them names.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace shoal {

// The value of an environment variable; nullopt where it is not set or empty.
using Variables = std::function<std::optional<std::string>(absl::string_view name)>;
Variables ProcessEnvironment();

struct Cluster {
  absl::string_view environment;  // "Open MPI"
  int process_id = 0;
  int process_count = 1;
  // The processes of the job on this host, and which of them this is; count 0 where the environment does not
  // tell.
  int local_id = 0;
  int local_count = 0;
  // Fit for a file name, the same in all processes of the job, and in no other job that runs at this time.
  std::string job;
  // HOST:PORT where process 0 may listen: SHOAL_COORDINATOR, or the environment's; empty where neither tells.
  std::string coordinator;

  // The descriptor on which the launcher answers PMI's first protocol; -1: nowhere.
  int pmi_file = -1;

  bool one_host() const { return local_count == process_count; }
};

// The first environment that is present; nullopt outside any. InvalidArgument where its variables make no
// sense, e.g. process 4 of 4.
absl::StatusOr<std::optional<Cluster>> FindCluster(const Variables& variables);

}  // namespace shoal

// Plain variables, written by hand, by a script or by shoalrun. Without SHOAL_COORDINATOR all processes are
// on one host.
#include "core/base/status.h"
#include "launcher/cluster/environments.h"

namespace shoal {

// A number without a count is somebody's mistake: reading it tells so, where each process would be alone.
bool PlainPresent(const Variables& variables) {
  return variables("SHOAL_NUM_PROCESSES").has_value() || variables("SHOAL_PROCESS_ID").has_value();
}

absl::StatusOr<Cluster> ReadPlain(const Variables& variables) {
  Cluster cluster;
  SHOAL_ASSIGN_OR_RETURN(cluster.process_count, ReadCount(variables, "SHOAL_NUM_PROCESSES"));
  // One process needs no number, and of none it is the count that is wrong.
  const bool alone = cluster.process_count <= 1;
  SHOAL_ASSIGN_OR_RETURN(cluster.process_id, alone ? ReadCount(variables, "SHOAL_PROCESS_ID", 0)
                                                   : ReadCount(variables, "SHOAL_PROCESS_ID"));
  if (!variables("SHOAL_COORDINATOR")) {
    cluster.local_id = cluster.process_id;
    cluster.local_count = cluster.process_count;
  }
  cluster.job = JobName(variables, "plain", {"SHOAL_JOB", "SHOAL_NUM_PROCESSES", "SHOAL_COORDINATOR"});
  return cluster;
}

}  // namespace shoal

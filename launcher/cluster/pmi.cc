// Launchers that speak PMI: MPICH's and Intel's mpiexec (PMI_RANK, PMI_SIZE), PRRTE and others by PMIx, whose
// variables tell the rank but not the count.
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "launcher/cluster/environments.h"

namespace shoal {

bool PmiPresent(const Variables& variables) { return variables("PMI_RANK") || variables("PMIX_RANK"); }

absl::StatusOr<Cluster> ReadPmi(const Variables& variables) {
  Cluster cluster;
  const absl::string_view rank = variables("PMI_RANK") ? "PMI_RANK" : "PMIX_RANK";
  SHOAL_ASSIGN_OR_RETURN(cluster.process_id, ReadCount(variables, rank));
  if (!variables("PMI_SIZE")) {
    return absl::InvalidArgumentError(
        absl::StrCat(rank,
                     " is set, but PMI_SIZE is not, so the number of processes is unknown: set "
                     "SHOAL_NUM_PROCESSES and SHOAL_PROCESS_ID, or unset ",
                     rank, " to run as a single process"));
  }
  SHOAL_ASSIGN_OR_RETURN(cluster.process_count, ReadCount(variables, "PMI_SIZE"));
  SHOAL_ASSIGN_OR_RETURN(cluster.local_id, ReadCount(variables, "MPI_LOCALRANKID", 0));
  SHOAL_ASSIGN_OR_RETURN(cluster.local_count, ReadCount(variables, "MPI_LOCALNRANKS", 0));
  cluster.job = JobName(variables, "pmi",
                        {"PMIX_NAMESPACE", "PMI_JOBID", "PMI_PORT", "PMI_ID_PORT", "HYDI_CONTROL_FD"});
  return cluster;
}

}  // namespace shoal

// Launchers that speak PMI: MPICH's and Intel's mpiexec (PMI_RANK, PMI_SIZE), PRRTE and others by PMIx, whose
// variables tell the rank but not the count.
#include <sys/socket.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "launcher/cluster/environments.h"

namespace shoal {
namespace {

// MPICH's mpiexec names no job. The socket on which it answers each process of a host was made by one
// process, whose number no other job on that host has at this time. Empty where PMI_FD is no such socket.
std::string MakerOfSocket(const Variables& variables) {
  int file;
  ucred maker;
  socklen_t size = sizeof(maker);
  if (!absl::SimpleAtoi(variables("PMI_FD").value_or(""), &file) ||
      getsockopt(file, SOL_SOCKET, SO_PEERCRED, &maker, &size) != 0) {
    return "";
  }
  return absl::StrCat("-", maker.pid);
}

}  // namespace

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
  // Ports and descriptors, which MPICH sets as well, differ from host to host.
  cluster.job = JobName(variables, "pmi", {"PMIX_NAMESPACE", "PMI_JOBID", "SHOAL_COORDINATOR"});
  SHOAL_ASSIGN_OR_RETURN(cluster.pmi_file, ReadCount(variables, "PMI_FD", -1));
  if (cluster.one_host()) cluster.job += MakerOfSocket(variables);
  return cluster;
}

}  // namespace shoal

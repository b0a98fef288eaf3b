// Open MPI's mpirun, version 4 and 5.
#include "core/base/status.h"
#include "launcher/cluster/environments.h"

namespace shoal {

bool OpenMpiPresent(const Variables& variables) { return variables("OMPI_COMM_WORLD_SIZE").has_value(); }

absl::StatusOr<Cluster> ReadOpenMpi(const Variables& variables) {
  Cluster cluster;
  SHOAL_ASSIGN_OR_RETURN(cluster.process_count, ReadCount(variables, "OMPI_COMM_WORLD_SIZE"));
  SHOAL_ASSIGN_OR_RETURN(cluster.process_id, ReadCount(variables, "OMPI_COMM_WORLD_RANK"));
  SHOAL_ASSIGN_OR_RETURN(cluster.local_id, ReadCount(variables, "OMPI_COMM_WORLD_LOCAL_RANK", 0));
  SHOAL_ASSIGN_OR_RETURN(cluster.local_count, ReadCount(variables, "OMPI_COMM_WORLD_LOCAL_SIZE", 0));
  // The job's number alone can return; mpirun's address and its random key of the job cannot.
  cluster.job = JobName(variables, "mpi",
                        {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "OMPI_MCA_orte_hnp_uri",
                         "OMPI_MCA_orte_precondition_transports"});
  return cluster;
}

}  // namespace shoal

// Slurm's srun. A batch script or an salloc shell is one process, whatever the size of the allocation: only a
// step counts.
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status.h"
#include "launcher/cluster/environments.h"

namespace shoal {
namespace {

// The first node of a list as Slurm writes it: "n07", "n[07-09,12],m3" and "a,b" begin with n07, n07 and a.
std::string FirstNode(absl::string_view list) {
  const size_t end = list.find_first_of("[,");
  if (end == absl::string_view::npos || list[end] == ',') return std::string(list.substr(0, end));
  const absl::string_view numbers = list.substr(end + 1);
  return absl::StrCat(list.substr(0, end), numbers.substr(0, numbers.find_first_of(",-]")));
}

// The number of tasks on node `node` of "2(x3),1": two on each of three nodes, one on the fourth. 0 where the
// text ends before.
int TasksOnNode(absl::string_view text, int node) {
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> halves =
        absl::StrSplit(part, absl::MaxSplits("(x", 1));
    int tasks = 0;
    int nodes = 1;
    if (!absl::SimpleAtoi(halves.first, &tasks)) return 0;
    if (!halves.second.empty() && !absl::SimpleAtoi(halves.second.substr(0, halves.second.find(')')), &nodes))
      return 0;
    if (node < nodes) return tasks;
    node -= nodes;
  }
  return 0;
}

}  // namespace

bool SlurmPresent(const Variables& variables) {
  return variables("SLURM_STEP_ID") && variables("SLURM_PROCID") && variables("SLURM_STEP_NUM_TASKS");
}

absl::StatusOr<Cluster> ReadSlurm(const Variables& variables) {
  Cluster cluster;
  SHOAL_ASSIGN_OR_RETURN(cluster.process_count, ReadCount(variables, "SLURM_STEP_NUM_TASKS"));
  SHOAL_ASSIGN_OR_RETURN(cluster.process_id, ReadCount(variables, "SLURM_PROCID"));
  SHOAL_ASSIGN_OR_RETURN(cluster.local_id, ReadCount(variables, "SLURM_LOCALID", 0));
  SHOAL_ASSIGN_OR_RETURN(int node, ReadCount(variables, "SLURM_NODEID", 0));
  cluster.local_count = TasksOnNode(variables("SLURM_STEP_TASKS_PER_NODE").value_or(""), node);
  cluster.job = JobName(variables, "slurm", {"SLURM_CLUSTER_NAME", "SLURM_JOB_ID", "SLURM_STEP_ID"});
  if (const auto nodes = variables("SLURM_STEP_NODELIST")) {
    // Steps of one job, and jobs that share a node, should not meet at one port; above it stand Linux's own
    // choices.
    SHOAL_ASSIGN_OR_RETURN(int job, ReadCount(variables, "SLURM_JOB_ID", 0));
    int step = 0;
    (void)absl::SimpleAtoi(*variables("SLURM_STEP_ID"), &step);
    cluster.coordinator = absl::StrCat(FirstNode(*nodes), ":", 20000 + (job * 13 + step) % 10000);
  }
  return cluster;
}

}  // namespace shoal

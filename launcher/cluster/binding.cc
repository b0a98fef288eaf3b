#include "launcher/cluster/binding.h"

#include <sched.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace shoal {
namespace {

int CoresOf(pid_t process) {
  cpu_set_t set;
  return sched_getaffinity(process, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
}

}  // namespace

CoreCounts CoreCounts::OfThisProcess() { return {CoresOf(0), CoresOf(getppid())}; }

std::string BindingWarning(const Cluster& cluster, const CoreCounts& cores) {
  // Slurm's steps have what was asked for; others bind only where they are told to.
  if (cluster.environment != "Open MPI" || cluster.local_id != 0 || cores.own == 0) return "";
  const int used = cores.own * cluster.local_count;
  if (used == 0 || 2 * used > cores.launcher) return "";
  return absl::StrCat("mpirun has bound each process of this host to ", cores.own,
                      cores.own == 1 ? " core" : " cores", ", so that ", cores.launcher - used, " of ",
                      cores.launcher,
                      " cores have nothing to do: mpirun --bind-to none lets a process use all, "
                      "--map-by slot:PE=",
                      cores.launcher / cluster.local_count, " gives each its share");
}

}  // namespace shoal

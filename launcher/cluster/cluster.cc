#include "launcher/cluster/cluster.h"

#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/fingerprint.h"
#include "core/base/status.h"
#include "launcher/cluster/environments.h"

namespace shoal {
namespace {

struct ClusterEnvironment {
  absl::string_view name;
  bool (*present)(const Variables&);
  absl::StatusOr<Cluster> (*read)(const Variables&);
};

// Plain variables come first, because somebody wrote them on purpose. Open MPI comes before Slurm: inside an
// allocation mpirun starts its daemons by srun, and their SLURM_PROCID reaches every rank.
constexpr ClusterEnvironment kEnvironments[] = {
    {"SHOAL variables", PlainPresent, ReadPlain},
    {"Open MPI", OpenMpiPresent, ReadOpenMpi},
    {"Slurm", SlurmPresent, ReadSlurm},
    {"PMI", PmiPresent, ReadPmi},  // MPICH, Intel MPI, PRRTE
};

// More is a slip of the pen: each process has something for every other.
constexpr int kMostProcesses = 1 << 16;

absl::Status Check(const Cluster& cluster) {
  if (cluster.process_count < 1 || cluster.process_count > kMostProcesses) {
    return absl::InvalidArgumentError(
        absl::StrCat(cluster.environment, " says that the job has ", cluster.process_count,
                     " processes; there must be at least one and at most ", kMostProcesses));
  }
  if (cluster.process_id < 0 || cluster.process_id >= cluster.process_count) {
    return absl::InvalidArgumentError(absl::StrCat(cluster.environment, " says that this is process ",
                                                   cluster.process_id, " of ", cluster.process_count,
                                                   "; processes are numbered from 0"));
  }
  return absl::OkStatus();
}

}  // namespace

Variables ProcessEnvironment() {
  return [](absl::string_view name) -> std::optional<std::string> {
    const char* value = std::getenv(std::string(name).c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return std::string(value);
  };
}

absl::StatusOr<std::optional<Cluster>> FindCluster(const Variables& variables) {
  for (const ClusterEnvironment& environment : kEnvironments) {
    if (!environment.present(variables)) continue;
    absl::StatusOr<Cluster> cluster = environment.read(variables);
    if (!cluster.ok()) return Annotate(cluster.status(), environment.name);
    cluster->environment = environment.name;
    if (const auto coordinator = variables("SHOAL_COORDINATOR")) cluster->coordinator = *coordinator;
    SHOAL_RETURN_IF_ERROR(Check(*cluster));
    return std::optional<Cluster>(*std::move(cluster));
  }
  return std::optional<Cluster>();
}

absl::StatusOr<int> ReadCount(const Variables& variables, absl::string_view name) {
  const std::optional<std::string> text = variables(name);
  if (!text) return absl::InvalidArgumentError(absl::StrCat(name, " is not set"));
  int value;
  if (!absl::SimpleAtoi(*text, &value) || value < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, "=\"", *text, "\" is not a whole number of 0 or more"));
  }
  return value;
}

absl::StatusOr<int> ReadCount(const Variables& variables, absl::string_view name, int otherwise) {
  if (!variables(name)) return otherwise;
  return ReadCount(variables, name);
}

std::string JobName(const Variables& variables, absl::string_view prefix,
                    absl::Span<const absl::string_view> names) {
  std::string values;
  for (absl::string_view name : names) {
    if (const std::optional<std::string> value = variables(name))
      absl::StrAppend(&values, name, "=", *value, "\n");
  }
  return absl::StrCat(prefix, "-", absl::Hex(Fingerprint(values), absl::kZeroPad16));
}

}  // namespace shoal

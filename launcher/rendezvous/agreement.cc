#include "launcher/rendezvous/agreement.h"

#include "absl/strings/str_cat.h"

namespace shoal {
namespace {

std::string Says(absl::string_view who, int process, int count) {
  return absl::StrCat(who, " says that this is process ", process, " of ", count);
}

}  // namespace

absl::StatusOr<Place> Agree(const JobOptions& options, const std::optional<Cluster>& cluster) {
  // `mpirun -n 1` around a script that starts processes itself says nothing of those.
  const bool cluster_counts = cluster && cluster->process_count > 1;
  if (!options.process_count) {
    if (!cluster) return Place{};
    return Place{ProcessId(cluster->process_id), cluster->process_count, cluster};
  }
  const int process = options.process_id.value_or(0);
  const int count = *options.process_count;
  const std::string caller = Says("the program (jax.distributed.initialize)", process, count);
  if (count < 1 || process < 0 || process >= count) {
    return absl::InvalidArgumentError(absl::StrCat(caller, "; processes are numbered from 0"));
  }
  if (cluster_counts && (cluster->process_id != process || cluster->process_count != count)) {
    return absl::InvalidArgumentError(absl::StrCat(
        caller, ", but ", Says(cluster->environment, cluster->process_id, cluster->process_count),
        ": give both the same numbers, or leave jax.distributed out, since Shoal needs only ",
        cluster->environment));
  }
  if (count > 1 && !cluster_counts && options.store == nullptr && options.coordinator.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        caller,
        ", but gives no key-value store or coordinator to find the others, and no launcher started "
        "this process"));
  }
  return Place{ProcessId(process), count, cluster_counts ? cluster : std::nullopt};
}

}  // namespace shoal

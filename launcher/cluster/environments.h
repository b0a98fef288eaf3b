// The questions of each environment, one source file each, and how they read variables. For cluster.cc's
// list. Each Read REQUIRES that its environment is present; InvalidArgument names the variable that is
// missing or does not parse.
#pragma once

#include "absl/types/span.h"
#include "launcher/cluster/cluster.h"

namespace shoal {

bool PlainPresent(const Variables& variables);
absl::StatusOr<Cluster> ReadPlain(const Variables& variables);
bool OpenMpiPresent(const Variables& variables);
absl::StatusOr<Cluster> ReadOpenMpi(const Variables& variables);
bool SlurmPresent(const Variables& variables);
absl::StatusOr<Cluster> ReadSlurm(const Variables& variables);
bool PmiPresent(const Variables& variables);
absl::StatusOr<Cluster> ReadPmi(const Variables& variables);

// The whole number in variable `name`; InvalidArgument naming it where it is missing or no such number.
absl::StatusOr<int> ReadCount(const Variables& variables, absl::string_view name);
// The same, but `otherwise` where the variable is not set.
absl::StatusOr<int> ReadCount(const Variables& variables, absl::string_view name, int otherwise);
// A job name from the values of those of `names` that are set: "PREFIX-0123456789abcdef".
std::string JobName(const Variables& variables, absl::string_view prefix,
                    absl::Span<const absl::string_view> names);

}  // namespace shoal

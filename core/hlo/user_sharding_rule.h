// user-sharding-rule: what the author of a custom call says about how its arrays may be split
// (sdy.sharding_rule).
//
// It travels behind the call's backend_config, which the callee must not see so: from the importer, if there
// is more than one partition, until the partitioner drops it.
//
//   ([i,k], [k,j]) -> [i,j]     factor_sizes {i,k,j}; operands {{{0},{1}}, {{1},{2}}}; results {{{0},{2}}}
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "core/hlo/attributes.h"

namespace shoal {

struct UserShardingRule {
  IntVector factor_sizes;
  std::vector<Groups> operands, results;  // of each array and dimension: its factors, major to minor
  IntVector reduction, need_replication, permutation, blocked;  // factors of those kinds
};

void AttachRule(const UserShardingRule& rule, CustomCallAttributes& call);
// The rule, if there is one. Every factor that it names has a size.
std::optional<UserShardingRule> RuleOf(const CustomCallAttributes& call);
// backend_config as the callee shall see it.
absl::string_view ConfigWithoutRule(const CustomCallAttributes& call);

}  // namespace shoal

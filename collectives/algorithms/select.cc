#include "collectives/algorithms/select.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "collectives/algorithms/algorithm_list.h"
#include "core/base/log.h"

namespace shoal {
namespace {

// Up to here the cost of a message is its latency: what an eager message holds.
constexpr int64_t kSmallBytes = 16 << 10;
// From here on a rank's share of the data takes longer on the wire than a round takes to start.
constexpr int64_t kRingBytes = 256 << 10;

constexpr Algorithm kAlgorithms[] = {
#define SHOAL_ROW(collective, name, good_for, builder, condition) \
  {CollectiveKind::collective, name, good_for, builder,           \
   []([[maybe_unused]] const Situation& s) -> bool { return condition; }},
    SHOAL_ALGORITHM_LIST(SHOAL_ROW)
#undef SHOAL_ROW
};

absl::string_view NameOf(CollectiveKind collective) {
  switch (collective) {
    case CollectiveKind::kAllReduce:
      return "all-reduce";
    case CollectiveKind::kAllGather:
      return "all-gather";
    case CollectiveKind::kReduceScatter:
      return "reduce-scatter";
    case CollectiveKind::kAllToAll:
      return "all-to-all";
    case CollectiveKind::kRaggedAllToAll:
      return "ragged-all-to-all";
    case CollectiveKind::kCollectivePermute:
      return "collective-permute";
    case CollectiveKind::kCollectiveBroadcast:
      return "collective-broadcast";
  }
  return "";
}

// The algorithm that a wish like "all-reduce=ring" means, or null.
const Algorithm* Wished(absl::string_view wish) {
  for (const Algorithm& algorithm : kAlgorithms) {
    if (wish == absl::StrCat(NameOf(algorithm.collective), "=", algorithm.name)) return &algorithm;
  }
  return nullptr;
}

}  // namespace

absl::Span<const Algorithm> AllAlgorithms() { return kAlgorithms; }

absl::Status CheckAlgorithms(absl::string_view wishes) {
  for (absl::string_view wish : absl::StrSplit(wishes, ',', absl::SkipEmpty())) {
    if (Wished(wish) != nullptr) continue;
    std::string all;
    for (const Algorithm& algorithm : kAlgorithms) {
      absl::StrAppend(&all, all.empty() ? "" : ", ", NameOf(algorithm.collective), "=", algorithm.name);
    }
    return absl::InvalidArgumentError(
        absl::StrCat("SHOAL_ALGORITHMS: '", wish, "' names no algorithm; there are ", all));
  }
  return absl::OkStatus();
}

const Algorithm& SelectAlgorithm(CollectiveKind collective, const Situation& situation,
                                 absl::string_view wishes) {
  const Algorithm* chosen = nullptr;
  for (absl::string_view wish : absl::StrSplit(wishes, ',', absl::SkipEmpty())) {
    const Algorithm* wished = Wished(wish);
    if (wished != nullptr && wished->collective == collective) chosen = wished;
  }
  const bool was_wished = chosen != nullptr;
  for (const Algorithm& algorithm : kAlgorithms) {
    if (chosen != nullptr || algorithm.collective != collective || !algorithm.applies(situation)) continue;
    chosen = &algorithm;
  }
  SHOAL_LOG_AT(2) << NameOf(collective) << " of " << situation.bytes << " bytes over " << situation.ranks
                  << " processes" << (situation.one_host ? " of one host" : "") << ": " << chosen->name
                  << " (" << (was_wished ? "SHOAL_ALGORITHMS" : chosen->good_for) << ")";
  return *chosen;
}

}  // namespace shoal

#include "collectives/algorithms/select.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "collectives/algorithms/algorithm_list.h"
#include "collectives/algorithms/table.h"
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

// The algorithm that a wish like "all-reduce=ring" means, or null.
const Algorithm* Wished(absl::string_view wish) {
  for (const Algorithm& algorithm : kAlgorithms) {
    if (wish == absl::StrCat(CollectiveName(algorithm.collective), "=", algorithm.name)) return &algorithm;
  }
  return nullptr;
}

}  // namespace

absl::string_view CollectiveName(CollectiveKind collective) {
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

absl::Span<const Algorithm> AllAlgorithms() { return kAlgorithms; }

absl::Status CheckAlgorithms(absl::string_view wishes) {
  for (absl::string_view wish : absl::StrSplit(wishes, ',', absl::SkipEmpty())) {
    if (Wished(wish) != nullptr) continue;
    std::string all;
    for (const Algorithm& algorithm : kAlgorithms) {
      absl::StrAppend(&all, all.empty() ? "" : ", ", CollectiveName(algorithm.collective), "=",
                      algorithm.name);
    }
    return absl::InvalidArgumentError(
        absl::StrCat("SHOAL_ALGORITHMS: '", wish, "' names no algorithm; there are ", all));
  }
  return absl::OkStatus();
}

const Algorithm& SelectAlgorithm(CollectiveKind collective, const Situation& situation,
                                 absl::string_view wishes, const AlgorithmTable* table) {
  const Algorithm* chosen = nullptr;
  std::string why;
  for (absl::string_view wish : absl::StrSplit(wishes, ',', absl::SkipEmpty())) {
    const Algorithm* wished = Wished(wish);
    if (wished != nullptr && wished->collective == collective) chosen = wished;
  }
  if (chosen != nullptr) {
    why = "SHOAL_ALGORITHMS";
  } else if (const auto* row = table == nullptr ? nullptr : table->Find(collective, situation)) {
    chosen = row->algorithm;
    why = absl::StrCat("SHOAL_TUNING, line ", row->line);
  } else {
    const auto applies = [&](const Algorithm& algorithm) {
      return algorithm.collective == collective && algorithm.applies(situation);
    };
    chosen = std::find_if(std::begin(kAlgorithms), std::end(kAlgorithms), applies);
    why = std::string(chosen->good_for);
  }
  SHOAL_LOG_AT(2) << CollectiveName(collective) << " of " << situation.bytes << " bytes over "
                  << situation.ranks << " processes on " << situation.hosts
                  << (situation.one_host() ? " host: " : " hosts: ") << chosen->name << " (" << why << ")";
  return *chosen;
}

}  // namespace shoal

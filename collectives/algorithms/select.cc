#include "collectives/algorithms/select.h"

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

}  // namespace

absl::Span<const Algorithm> AllAlgorithms() { return kAlgorithms; }

const Algorithm& SelectAlgorithm(CollectiveKind collective, const Situation& situation) {
  const Algorithm* chosen = &kAlgorithms[0];
  for (const Algorithm& algorithm : kAlgorithms) {
    if (algorithm.collective != collective || !algorithm.applies(situation)) continue;
    chosen = &algorithm;
    break;
  }
  SHOAL_LOG_AT(2) << "collective " << static_cast<int>(collective) << " of " << situation.bytes
                  << " bytes over " << situation.ranks << " processes"
                  << (situation.one_host ? " of one host" : "") << ": " << chosen->name << " ("
                  << chosen->good_for << ")";
  return *chosen;
}

}  // namespace shoal

// Chooses the algorithm of a collective from algorithm_list.h, and says why at log level 2. Pure;
// thread-safe. Every process of a group must reach the same answer, so a Situation holds only what all of
// them know.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "collectives/algorithms/schedule.h"
#include "core/runtime/communicator.h"

namespace shoal {

struct Situation {
  int ranks = 1;      // processes of the group; at least 2
  int64_t bytes = 0;  // of the whole array that is reduced, gathered or exchanged
  int hosts = 1;      // that they are on
  bool one_host() const { return hosts == 1; }
  bool shares_hosts() const { return hosts > 1 && hosts < ranks; }
};

struct Algorithm {
  CollectiveKind collective;
  absl::string_view name;
  absl::string_view good_for;
  ScheduleBuilder build;
  bool (*applies)(const Situation&);
};

class AlgorithmTable;

// "all-reduce".
absl::string_view CollectiveName(CollectiveKind collective);
// The list, in its order. Permute is not in it: its pairs are its schedule.
absl::Span<const Algorithm> AllAlgorithms();
// `wishes` (SHOAL_ALGORITHMS) go before all else: "all-reduce=ring,all-gather=bruck".
// InvalidArgument, with the names that there are, if one means nothing.
absl::Status CheckAlgorithms(absl::string_view wishes);
// Wishes, then `table` if it is not null and has a row, then the list's conditions.
// REQUIRES: `collective` is in the list; CheckAlgorithms(wishes) is OK.
const Algorithm& SelectAlgorithm(CollectiveKind collective, const Situation& situation,
                                 absl::string_view wishes = "", const AlgorithmTable* table = nullptr);

}  // namespace shoal

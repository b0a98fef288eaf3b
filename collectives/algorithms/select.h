// Chooses the algorithm of a collective from algorithm_list.h, and says why at log level 2. Pure;
// thread-safe. Every process of a group must reach the same answer, so a Situation holds only what all of
// them know.
#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "collectives/algorithms/schedule.h"
#include "core/runtime/communicator.h"

namespace shoal {

struct Situation {
  int ranks = 1;      // processes of the group; at least 2
  int64_t bytes = 0;  // of the whole array that is reduced, gathered or exchanged
  bool one_host = true;
};

struct Algorithm {
  CollectiveKind collective;
  absl::string_view name;
  absl::string_view good_for;
  ScheduleBuilder build;
  bool (*applies)(const Situation&);
};

// The list, in its order. Permute is not in it: its pairs are its schedule.
absl::Span<const Algorithm> AllAlgorithms();
// REQUIRES: `collective` is in the list.
const Algorithm& SelectAlgorithm(CollectiveKind collective, const Situation& situation);

}  // namespace shoal

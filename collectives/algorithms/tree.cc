// The binomial tree: log2(ranks) rounds; in each, everyone who has the data gives it to one who has not.
#include "collectives/algorithms/schedule.h"

namespace shoal {

// Counted from the root, rank v gets the data in the round of its highest bit, from v without that bit.
Schedule BinomialBroadcast(const Seat& seat) {
  const int ranks = seat.ranks, root = seat.root;
  Schedule schedule{"binomial", 1};
  const int self = (seat.rank - root + ranks) % ranks;
  const int source = self == 0 ? kInputBuffer : kOutputBuffer;
  for (int have = 1; have < ranks; have *= 2) {
    std::vector<Step> round;
    if (self < have && self + have < ranks) {
      round.push_back({StepKind::kSend, (self + have + root) % ranks, {source}});
    } else if (self >= have && self < 2 * have) {
      round.push_back({StepKind::kReceive, (self - have + root) % ranks, {kOutputBuffer}});
    }
    schedule.rounds.push_back(std::move(round));
  }
  return schedule;
}

}  // namespace shoal

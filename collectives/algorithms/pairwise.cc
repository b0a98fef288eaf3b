// Rank r sends to r + k and receives from r - k in round k: one message each way at a time, so that many
// ranks do not swamp the links or their peers' memory.
#include "collectives/algorithms/schedule.h"

namespace shoal {

Schedule PairwiseAllToAll(const Seat& seat) {
  const int ranks = seat.ranks, rank = seat.rank;
  Schedule schedule{"pairwise", ranks};
  schedule.in_place = false;
  for (int k = 1; k < ranks; ++k) {
    const int to = (rank + k) % ranks, from = (rank - k + ranks) % ranks;
    schedule.rounds.push_back(
        {{StepKind::kSend, to, {kInputBuffer, to}}, {StepKind::kReceive, from, {kOutputBuffer, from}}});
  }
  return schedule;
}

Schedule PairwiseReduceScatter(const Seat& seat) {
  const int ranks = seat.ranks, rank = seat.rank;
  Schedule schedule{"pairwise", ranks};
  for (int k = 1; k < ranks; ++k) {
    const int to = (rank + k) % ranks, from = (rank - k + ranks) % ranks;
    const Block own{k == 1 ? kInputBuffer : kOutputBuffer, rank};
    schedule.rounds.push_back(
        {{StepKind::kSend, to, {kInputBuffer, to}},
         {StepKind::kReduce, -1, {kOutputBuffer, rank}, {Operand{-1, own}, Operand{from}}}});
  }
  return schedule;
}

}  // namespace shoal

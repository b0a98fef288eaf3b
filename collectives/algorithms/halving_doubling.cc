// Recursive halving, then doubling: 2 log2(p) rounds that move 2 (p-1)/p of the data (Rabenseifner's
// algorithm).
#include "collectives/algorithms/schedule.h"

namespace shoal {

// With p the largest power of two in `ranks`, the first 2 * (ranks - p) ranks pair up: an odd one gives its
// data to the even one before it and gets the result at the end. The p that go on are renumbered.
Schedule HalvingDoublingAllReduce(const Seat& seat) {
  const int ranks = seat.ranks, rank = seat.rank;
  int p = 1;
  while (2 * p <= ranks) p *= 2;
  const int folded = 2 * (ranks - p);
  const auto old_rank = [&](int r) { return r < folded / 2 ? 2 * r : r + folded / 2; };
  Schedule schedule{"halving_doubling", p};
  std::vector<std::vector<Step>>& rounds = schedule.rounds;
  const Block all_in{kInputBuffer, 0, p}, all_out{kOutputBuffer, 0, p};
  rounds.emplace_back();
  const bool folds = rank < folded;
  if (folds && rank % 2 == 1) {
    rounds[0].push_back({StepKind::kSend, rank - 1, all_in});
    for (int distance = p; distance > 1; distance /= 2) rounds.resize(rounds.size() + 2);
    rounds.push_back({{StepKind::kReceive, rank - 1, all_out}});
    return schedule;
  }
  if (folds) rounds[0].push_back({StepKind::kReduce, -1, all_out, {Operand{-1, all_in}, Operand{rank + 1}}});

  const int self = folds ? rank / 2 : rank - folded / 2;
  int begin = 0, source = folds ? kOutputBuffer : kInputBuffer;
  for (int distance = p / 2; distance > 0; distance /= 2) {
    const bool upper = (self & distance) != 0;
    const int peer = old_rank(self ^ distance);
    const int keep = upper ? begin + distance : begin, give = upper ? begin : begin + distance;
    const Operand own{-1, {source, keep, distance}};
    rounds.push_back(
        {{StepKind::kSend, peer, {source, give, distance}},
         {StepKind::kReduce,
          -1,
          {kOutputBuffer, keep, distance},
          upper ? std::vector<Operand>{Operand{peer}, own} : std::vector<Operand>{own, Operand{peer}}}});
    begin = keep;
    source = kOutputBuffer;
  }
  for (int distance = 1; distance < p; distance *= 2) {
    const int peer = old_rank(self ^ distance), theirs = begin ^ distance;
    rounds.push_back({{StepKind::kSend, peer, {kOutputBuffer, begin, distance}},
                      {StepKind::kReceive, peer, {kOutputBuffer, theirs, distance}}});
    begin &= ~distance;
  }
  rounds.emplace_back();
  if (folds) rounds.back().push_back({StepKind::kSend, rank + 1, all_out});
  return schedule;
}

}  // namespace shoal

// Bruck's all-gather: after round k a rank holds the 2^(k+1) chunks that begin at its own, so log2(ranks)
// rounds do, for any number of ranks.
#include <algorithm>

#include "collectives/algorithms/schedule.h"

namespace shoal {
namespace {

// Chunks [first, first + count) modulo `ranks` in the output, as one block or, where they wrap, two.
std::vector<Block> Wrapped(int first, int count, int ranks) {
  first %= ranks;
  const int head = std::min(count, ranks - first);
  std::vector<Block> blocks = {{kOutputBuffer, first, head}};
  if (head < count) blocks.push_back({kOutputBuffer, 0, count - head});
  return blocks;
}

}  // namespace

Schedule BruckAllGather(const Seat& seat) {
  const int ranks = seat.ranks, rank = seat.rank;
  Schedule schedule{"bruck", ranks};
  for (int have = 1; have < ranks; have *= 2) {
    const int count = std::min(have, ranks - have);
    const int to = (rank - have + ranks) % ranks, from = (rank + have) % ranks;
    std::vector<Step> round;
    for (const Block& block : Wrapped(rank, count, ranks)) round.push_back({StepKind::kSend, to, block});
    for (const Block& block : Wrapped(from, count, ranks)) round.push_back({StepKind::kReceive, from, block});
    schedule.rounds.push_back(std::move(round));
  }
  return schedule;
}

}  // namespace shoal

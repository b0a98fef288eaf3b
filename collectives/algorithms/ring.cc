// Rank r sends to r + 1 and receives from r - 1 only: every link carries every byte once each way, whatever
// the number of ranks; the price is ranks - 1 rounds for each half.
#include "collectives/algorithms/schedule.h"

namespace shoal {
namespace {

int Modulo(int value, int ranks) { return (value % ranks + ranks) % ranks; }

// Round k passes on the partial sum of chunk r - 1 - k; `sum(k, chunk)` is where it is kept once rank r has
// added its own. The last one to arrive is that of chunk r.
//   3 ranks, chunk 0: rank 1 sends its own to 2, 2 adds its own and sends to 0, 0 adds its own: done.
template <typename Place>
void AppendSums(const Seat& seat, const Place& sum, Schedule* schedule) {
  const int ranks = seat.ranks, rank = seat.rank;
  const int left = Modulo(rank - 1, ranks), right = Modulo(rank + 1, ranks);
  for (int k = 0; k < ranks - 1; ++k) {
    const int sent = Modulo(rank - 1 - k, ranks), arriving = Modulo(rank - 2 - k, ranks);
    const Block source = k == 0 ? Block{kInputBuffer, sent} : sum(k - 1, sent);
    const Operand own{-1, {kInputBuffer, arriving}};
    schedule->rounds.push_back(
        {{StepKind::kSend, right, source}, {StepKind::kReduce, -1, sum(k, arriving), {Operand{left}, own}}});
  }
}

}  // namespace

Schedule RingReduceScatter(const Seat& seat) {
  Schedule schedule{"ring", seat.ranks, /*scratch_slots=*/2};
  schedule.single_chunks = true;
  const auto sum = [&seat](int round, int chunk) {
    return round == seat.ranks - 2 ? Block{kOutputBuffer, chunk} : Block{kScratchBuffer, chunk, 1, round % 2};
  };
  AppendSums(seat, sum, &schedule);
  return schedule;
}

Schedule RingAllGather(const Seat& seat) {
  const int ranks = seat.ranks, rank = seat.rank;
  Schedule schedule{"ring", ranks};
  schedule.single_chunks = true;
  const int left = Modulo(rank - 1, ranks), right = Modulo(rank + 1, ranks);
  for (int k = 0; k < ranks - 1; ++k) {
    schedule.rounds.push_back({{StepKind::kSend, right, {kOutputBuffer, Modulo(rank - k, ranks)}},
                               {StepKind::kReceive, left, {kOutputBuffer, Modulo(rank - k - 1, ranks)}}});
  }
  return schedule;
}

// The partial sums lie where the output will be.
Schedule RingAllReduce(const Seat& seat) {
  Schedule schedule{"ring", seat.ranks};
  schedule.single_chunks = true;
  AppendSums(seat, [](int, int chunk) { return Block{kOutputBuffer, chunk}; }, &schedule);
  Schedule gather = RingAllGather(seat);
  for (std::vector<Step>& round : gather.rounds) schedule.rounds.push_back(std::move(round));
  return schedule;
}

}  // namespace shoal

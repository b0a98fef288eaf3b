// Rank r sends to r + 1 and receives from r - 1 only: every link carries every byte once each way, whatever
// the number of ranks; the price is ranks - 1 rounds for each half.
#include "collectives/algorithms/schedule.h"

namespace shoal {
namespace {

int Modulo(int value, int ranks) { return (value % ranks + ranks) % ranks; }

}  // namespace

// Round k passes on the partial sum of chunk r - 1 - k; the last sum to arrive is that of chunk r.
//   3 ranks, chunk 0: rank 1 sends its own to 2, 2 adds its own and sends to 0, 0 adds its own: done.
Schedule RingReduceScatter(const Seat& seat) {
  const int ranks = seat.ranks, rank = seat.rank;
  Schedule schedule{"ring", ranks, /*scratch_slots=*/2};
  schedule.single_chunks = true;
  const int left = Modulo(rank - 1, ranks), right = Modulo(rank + 1, ranks);
  for (int k = 0; k < ranks - 1; ++k) {
    const int sent = Modulo(rank - 1 - k, ranks), arriving = Modulo(rank - 2 - k, ranks);
    const Block source = k == 0 ? Block{kInputBuffer, sent} : Block{kScratchBuffer, sent, 1, (k - 1) % 2};
    const Block sum =
        k == ranks - 2 ? Block{kOutputBuffer, arriving} : Block{kScratchBuffer, arriving, 1, k % 2};
    schedule.rounds.push_back(
        {{StepKind::kSend, right, source},
         {StepKind::kReduce, -1, sum, {Operand{left}, Operand{-1, {kInputBuffer, arriving}}}}});
  }
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

// The reduce-scatter as above, but with its partial sums where the output will be, then the all-gather.
Schedule RingAllReduce(const Seat& seat) {
  const int ranks = seat.ranks, rank = seat.rank;
  Schedule schedule{"ring", ranks};
  schedule.single_chunks = true;
  const int left = Modulo(rank - 1, ranks), right = Modulo(rank + 1, ranks);
  for (int k = 0; k < ranks - 1; ++k) {
    const int sent = Modulo(rank - 1 - k, ranks), arriving = Modulo(rank - 2 - k, ranks);
    schedule.rounds.push_back({{StepKind::kSend, right, {k == 0 ? kInputBuffer : kOutputBuffer, sent}},
                               {StepKind::kReduce,
                                -1,
                                {kOutputBuffer, arriving},
                                {Operand{left}, Operand{-1, {kInputBuffer, arriving}}}}});
  }
  Schedule gather = RingAllGather(seat);
  for (std::vector<Step>& round : gather.rounds) schedule.rounds.push_back(std::move(round));
  return schedule;
}

}  // namespace shoal

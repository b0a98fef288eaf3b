// Everyone speaks with everyone, in as few rounds as the data allows.
#include "collectives/algorithms/schedule.h"

namespace shoal {
namespace {

// The other ranks, beginning after `rank`, so that not everybody turns to rank 0 first.
template <typename Body>
void ForEachPeer(int ranks, int rank, const Body& body) {
  for (int k = 1; k < ranks; ++k) body((rank + k) % ranks);
}

// `block` = the reduction of everybody's, in the order of ranks: the same bits wherever it is computed.
Step ReduceInRankOrder(int ranks, int rank, Block block, Block own) {
  Step step{StepKind::kReduce, -1, block};
  for (int r = 0; r < ranks; ++r) step.operands.push_back(r == rank ? Operand{-1, own} : Operand{r});
  return step;
}

// Everybody's own chunk, which lies in `own`, goes to all.
std::vector<Step> GatherRound(const Seat& seat, ScheduleBuffer own) {
  const int ranks = seat.ranks, rank = seat.rank;
  std::vector<Step> round;
  ForEachPeer(ranks, rank, [&](int peer) { round.push_back({StepKind::kSend, peer, {own, rank}}); });
  ForEachPeer(ranks, rank,
              [&](int peer) { round.push_back({StepKind::kReceive, peer, {kOutputBuffer, peer}}); });
  return round;
}

}  // namespace

Schedule LinearAllReduce(const Seat& seat) {
  const int ranks = seat.ranks, rank = seat.rank;
  Schedule schedule{"linear", 1};
  schedule.in_place = false;  // a peer may read the input after this rank has written its output
  schedule.reduces_once = true;
  std::vector<Step> round;
  ForEachPeer(ranks, rank, [&](int peer) { round.push_back({StepKind::kSend, peer, {kInputBuffer}}); });
  round.push_back(ReduceInRankOrder(ranks, rank, {kOutputBuffer}, {kInputBuffer}));
  schedule.rounds.push_back(std::move(round));
  return schedule;
}

Schedule DirectReduceScatter(const Seat& seat) {
  const int ranks = seat.ranks, rank = seat.rank;
  Schedule schedule{"direct", ranks};
  schedule.reduces_once = true;
  schedule.single_chunks = true;
  std::vector<Step> round;
  ForEachPeer(ranks, rank, [&](int peer) { round.push_back({StepKind::kSend, peer, {kInputBuffer, peer}}); });
  round.push_back(ReduceInRankOrder(ranks, rank, {kOutputBuffer, rank}, {kInputBuffer, rank}));
  schedule.rounds.push_back(std::move(round));
  return schedule;
}

Schedule LinearAllGather(const Seat& seat) {
  Schedule schedule{"linear", seat.ranks};
  schedule.single_chunks = true;
  schedule.rounds.push_back(GatherRound(seat, kInputBuffer));
  return schedule;
}

Schedule DirectAllReduce(const Seat& seat) {
  Schedule schedule = DirectReduceScatter(seat);
  schedule.rounds.push_back(GatherRound(seat, kOutputBuffer));
  return schedule;
}

Schedule LinearAllToAll(const Seat& seat) {
  const int ranks = seat.ranks, rank = seat.rank;
  Schedule schedule{"linear", ranks};
  schedule.in_place = false;
  std::vector<Step> round;
  ForEachPeer(ranks, rank, [&](int peer) { round.push_back({StepKind::kSend, peer, {kInputBuffer, peer}}); });
  ForEachPeer(ranks, rank,
              [&](int peer) { round.push_back({StepKind::kReceive, peer, {kOutputBuffer, peer}}); });
  schedule.rounds.push_back(std::move(round));
  return schedule;
}

Schedule LinearBroadcast(const Seat& seat) {
  const int ranks = seat.ranks, rank = seat.rank;
  Schedule schedule{"linear", 1};
  std::vector<Step> round;
  if (rank == seat.root) {
    ForEachPeer(ranks, rank, [&](int peer) { round.push_back({StepKind::kSend, peer, {kInputBuffer}}); });
  } else {
    round.push_back({StepKind::kReceive, seat.root, {kOutputBuffer}});
  }
  schedule.rounds.push_back(std::move(round));
  return schedule;
}

}  // namespace shoal

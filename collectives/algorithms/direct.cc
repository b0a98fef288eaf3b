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

}  // namespace

Schedule LinearAllReduce(int ranks, int rank, int /*root*/) {
  Schedule schedule{"linear", 1};
  schedule.in_place = false;  // a peer may read the input after this rank has written its output
  std::vector<Step> round;
  ForEachPeer(ranks, rank, [&](int peer) { round.push_back({StepKind::kSend, peer, {kInputBuffer}}); });
  round.push_back(ReduceInRankOrder(ranks, rank, {kOutputBuffer}, {kInputBuffer}));
  schedule.rounds.push_back(std::move(round));
  return schedule;
}

Schedule DirectReduceScatter(int ranks, int rank, int /*root*/) {
  Schedule schedule{"direct", ranks};
  std::vector<Step> round;
  ForEachPeer(ranks, rank, [&](int peer) { round.push_back({StepKind::kSend, peer, {kInputBuffer, peer}}); });
  round.push_back(ReduceInRankOrder(ranks, rank, {kOutputBuffer, rank}, {kInputBuffer, rank}));
  schedule.rounds.push_back(std::move(round));
  return schedule;
}

Schedule LinearAllGather(int ranks, int rank, int /*root*/) {
  Schedule schedule{"linear", ranks};
  std::vector<Step> round;
  ForEachPeer(ranks, rank,
              [&](int peer) { round.push_back({StepKind::kSend, peer, {kOutputBuffer, rank}}); });
  ForEachPeer(ranks, rank,
              [&](int peer) { round.push_back({StepKind::kReceive, peer, {kOutputBuffer, peer}}); });
  schedule.rounds.push_back(std::move(round));
  return schedule;
}

Schedule DirectAllReduce(int ranks, int rank, int root) {
  Schedule schedule = DirectReduceScatter(ranks, rank, root);
  schedule.rounds.push_back(LinearAllGather(ranks, rank, root).rounds[0]);
  return schedule;
}

Schedule LinearAllToAll(int ranks, int rank, int /*root*/) {
  Schedule schedule{"linear", ranks};
  schedule.in_place = false;
  std::vector<Step> round;
  ForEachPeer(ranks, rank, [&](int peer) { round.push_back({StepKind::kSend, peer, {kInputBuffer, peer}}); });
  ForEachPeer(ranks, rank,
              [&](int peer) { round.push_back({StepKind::kReceive, peer, {kOutputBuffer, peer}}); });
  schedule.rounds.push_back(std::move(round));
  return schedule;
}

Schedule LinearBroadcast(int ranks, int rank, int root) {
  Schedule schedule{"linear", 1};
  std::vector<Step> round;
  if (rank == root) {
    ForEachPeer(ranks, rank, [&](int peer) { round.push_back({StepKind::kSend, peer, {kInputBuffer}}); });
  } else {
    round.push_back({StepKind::kReceive, root, {kOutputBuffer}});
  }
  schedule.rounds.push_back(std::move(round));
  return schedule;
}

}  // namespace shoal

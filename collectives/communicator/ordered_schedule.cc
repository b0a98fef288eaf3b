#include "collectives/communicator/ordered_schedule.h"

#include <algorithm>

namespace shoal {

Schedule OrderedReduceScatterSchedule(const std::vector<int>& process_of, int self) {
  const int processes = *std::max_element(process_of.begin(), process_of.end()) + 1;
  Schedule schedule{"ordered", processes};
  std::vector<Step> round;
  Step sum{StepKind::kReduce, -1, {kOutputBuffer, self}};
  int member = 0;
  for (int process : process_of) {
    if (process != self) {
      sum.operands.push_back({process});
      continue;
    }
    for (int peer = 0; peer < processes; ++peer) {
      if (peer != self) round.push_back({StepKind::kSend, peer, {kFirstOwnBuffer + member, peer}});
    }
    sum.operands.push_back({-1, {kFirstOwnBuffer + member, self}});
    ++member;
  }
  round.push_back(std::move(sum));
  schedule.rounds.push_back(std::move(round));
  return schedule;
}

Schedule OrderedAllReduceSchedule(const std::vector<int>& process_of, int self) {
  Schedule schedule = OrderedReduceScatterSchedule(process_of, self);
  schedule.rounds.push_back(DirectAllReduce({schedule.chunks, self}).rounds[1]);
  return schedule;
}

}  // namespace shoal

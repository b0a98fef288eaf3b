// Groups of several processes on several hosts. What a host's processes have in common goes over the network
// once: the processes of a host first do their part among themselves, then each speaks with one process of
// every other host about its share, and at the end they tell each other.
//
//   all-reduce, hosts {0, 1} and {2, 3}: two chunks. Rank 0 sums chunk 0 of 0 and 1, exchanges the sum with
//   rank 2, and gives the total to rank 1; rank 1 does the same with chunk 1 and rank 3.
#include <algorithm>
#include <utility>

#include "collectives/algorithms/schedule.h"

namespace shoal {
namespace {

// Up to here every host speaks with every other at once; beyond, in a ring.
constexpr int kDirectHosts = 8;

// Who is where.
class Hosts {
 public:
  explicit Hosts(const Seat& seat) : seat_(seat) {
    for (int rank = 0; rank < seat.ranks; ++rank) {
      if (static_cast<size_t>(HostOf(rank)) >= members_.size()) members_.emplace_back();
      index_.push_back(static_cast<int>(members_[HostOf(rank)].size()));
      members_[HostOf(rank)].push_back(rank);
    }
  }
  int count() const { return static_cast<int>(members_.size()); }
  int HostOf(int rank) const { return seat_.host_of.empty() ? 0 : seat_.host_of[rank]; }
  int self() const { return HostOf(seat_.rank); }
  const std::vector<int>& members(int host) const { return members_[host]; }
  const std::vector<int>& here() const { return members_[self()]; }
  int IndexOf(int rank) const { return index_[rank]; }
  // The member of `host` that speaks with `rank` of another.
  int ProxyOf(int rank, int host) const {
    return members_[host][index_[rank] % static_cast<int>(members_[host].size())];
  }
  int FewestMembers() const {
    const auto smaller = [](const auto& a, const auto& b) { return a.size() < b.size(); };
    return static_cast<int>(std::min_element(members_.begin(), members_.end(), smaller)->size());
  }

 private:
  const Seat& seat_;
  std::vector<std::vector<int>> members_;  // by host
  std::vector<int> index_;                 // among its host's members, by rank
};

// Of everybody here, in the order of ranks.
Step SumHere(const Hosts& hosts, int rank, int chunk, Block sum) {
  Step step{StepKind::kReduce, -1, sum};
  for (int member : hosts.here()) {
    step.operands.push_back(member == rank ? Operand{-1, {kInputBuffer, chunk}} : Operand{member});
  }
  return step;
}

// A schedule among hosts becomes one of the processes that speak for them: `speakers` by host; its chunks
// follow one another from `first_chunk` on; its input is `input`.
void Append(Schedule inner, const std::vector<int>& speakers, int first_chunk, int input,
            Schedule* schedule) {
  const auto place = [&](Block* block) {
    block->first += first_chunk;
    if (block->buffer == kInputBuffer) block->buffer = input;
  };
  for (std::vector<Step>& round : inner.rounds) {
    for (Step& step : round) {
      place(&step.block);
      if (step.peer >= 0) step.peer = speakers[step.peer];
      for (Operand& operand : step.operands) {
        place(&operand.own);
        if (operand.peer >= 0) operand.peer = speakers[operand.peer];
      }
    }
    schedule->rounds.push_back(std::move(round));
  }
}

}  // namespace

// The members that every host has own a part of the data each. Two hosts exchange their sums of it; more
// divide it further, a chunk a host, and reduce it among themselves like so many ranks.
Schedule HierarchicalAllReduce(const Seat& seat) {
  const Hosts hosts(seat);
  const int parts = hosts.FewestMembers(), count = hosts.count(), rank = seat.rank;
  const int own = hosts.IndexOf(rank), width = count == 2 ? 1 : count;
  const bool owns = own < parts;
  Schedule schedule{"hierarchical", parts * width, /*scratch_slots=*/count == 2 ? 1 : 0};
  schedule.single_chunks = true;
  std::vector<std::vector<Step>>& rounds = schedule.rounds;
  std::vector<Step> sum, tell;
  for (int chunk = 0; chunk < parts * width; ++chunk) {
    const int owner = hosts.here()[chunk / width];
    if (owner != rank) {
      sum.push_back({StepKind::kSend, owner, {kInputBuffer, chunk}});
      tell.push_back({StepKind::kReceive, owner, {kOutputBuffer, chunk}});
      continue;
    }
    sum.push_back(SumHere(hosts, rank, chunk, {count == 2 ? kScratchBuffer : kOutputBuffer, chunk}));
    for (int member : hosts.here()) {
      if (member != rank) tell.push_back({StepKind::kSend, member, {kOutputBuffer, chunk}});
    }
  }
  rounds.push_back(std::move(sum));
  if (count == 2) {
    std::vector<Step> exchange;
    if (owns) {
      const int peer = hosts.members(1 - hosts.self())[own];
      const Block mine{kScratchBuffer, own};
      std::vector<Operand> sums = {Operand{-1, mine}, Operand{peer}};
      if (hosts.self() == 1) std::swap(sums[0], sums[1]);
      exchange = {{StepKind::kSend, peer, mine}, {StepKind::kReduce, -1, {kOutputBuffer, own}, sums}};
    }
    rounds.push_back(std::move(exchange));
  } else if (count > 2) {
    std::vector<int> speakers;
    for (int host = 0; owns && host < count; ++host) speakers.push_back(hosts.members(host)[own]);
    const Seat among{count, hosts.self()};
    Schedule inner = count <= kDirectHosts ? DirectAllReduce(among) : RingAllReduce(among);
    if (!owns) inner.rounds.assign(inner.rounds.size(), {});
    Append(std::move(inner), speakers, own * width, kOutputBuffer, &schedule);
  }
  rounds.push_back(std::move(tell));
  return schedule;
}

Schedule HierarchicalReduceScatter(const Seat& seat) {
  const Hosts hosts(seat);
  const int rank = seat.rank;
  Schedule schedule{"hierarchical", seat.ranks};
  schedule.single_chunks = true;
  std::vector<Step> sum, exchange;
  for (int other = 0; other < seat.ranks; ++other) {
    if (hosts.HostOf(other) == hosts.self()) continue;
    const int proxy = hosts.ProxyOf(other, hosts.self());
    if (proxy != rank) {
      sum.push_back({StepKind::kSend, proxy, {kInputBuffer, other}});
      continue;
    }
    const Block block{kScratchBuffer, other, 1, schedule.scratch_slots++};
    sum.push_back(SumHere(hosts, rank, other, block));
    exchange.push_back({StepKind::kSend, other, block});
  }
  for (int member : hosts.here()) {
    if (member != rank) exchange.push_back({StepKind::kSend, member, {kInputBuffer, member}});
  }
  Step total{StepKind::kReduce, -1, {kOutputBuffer, rank}};
  for (int host = 0; host < hosts.count(); ++host) {
    if (host != hosts.self()) {
      total.operands.push_back({hosts.ProxyOf(rank, host)});
      continue;
    }
    const Step here = SumHere(hosts, rank, rank, total.block);
    total.operands.insert(total.operands.end(), here.operands.begin(), here.operands.end());
  }
  exchange.push_back(std::move(total));
  schedule.rounds = {std::move(sum), std::move(exchange)};
  return schedule;
}

Schedule HierarchicalAllGather(const Seat& seat) {
  const Hosts hosts(seat);
  const int rank = seat.rank;
  Schedule schedule{"hierarchical", seat.ranks};
  schedule.single_chunks = true;
  std::vector<Step> exchange, tell;
  const Block own{kOutputBuffer, rank};
  for (int host = 0; host < hosts.count(); ++host) {
    if (host != hosts.self()) exchange.push_back({StepKind::kSend, hosts.ProxyOf(rank, host), own});
  }
  for (int member : hosts.here()) {
    if (member != rank) exchange.push_back({StepKind::kSend, member, own});
  }
  for (int other = 0; other < seat.ranks; ++other) {
    const Block block{kOutputBuffer, other};
    const bool here = hosts.HostOf(other) == hosts.self();
    const int proxy = here ? rank : hosts.ProxyOf(other, hosts.self());
    if (other == rank) continue;
    if (proxy != rank) {
      tell.push_back({StepKind::kReceive, proxy, block});
      continue;
    }
    exchange.push_back({StepKind::kReceive, other, block});
    for (int member : hosts.here()) {
      if (!here && member != rank) tell.push_back({StepKind::kSend, member, block});
    }
  }
  schedule.rounds = {std::move(exchange), std::move(tell)};
  return schedule;
}

// The root, and one member of every other host, speak for their hosts.
Schedule HierarchicalBroadcast(const Seat& seat) {
  const Hosts hosts(seat);
  const int root_host = hosts.HostOf(seat.root);
  std::vector<int> speakers;
  for (int host = 0; host < hosts.count(); ++host) {
    speakers.push_back(host == root_host ? seat.root : hosts.members(host)[0]);
  }
  const int speaker = speakers[hosts.self()];
  Schedule schedule{"hierarchical", 1};
  schedule.single_chunks = true;
  if (hosts.count() > 1) {
    Schedule inner = BinomialBroadcast({hosts.count(), hosts.self(), root_host});
    if (speaker != seat.rank) inner.rounds.assign(inner.rounds.size(), {});
    Append(std::move(inner), speakers, 0, kInputBuffer, &schedule);
  }
  std::vector<Step> tell;
  for (int member : hosts.here()) {
    const Block block{speaker == seat.root ? kInputBuffer : kOutputBuffer};
    if (speaker == seat.rank && member != speaker) tell.push_back({StepKind::kSend, member, block});
  }
  if (speaker != seat.rank) tell.push_back({StepKind::kReceive, speaker, {kOutputBuffer}});
  schedule.rounds.push_back(std::move(tell));
  return schedule;
}

}  // namespace shoal

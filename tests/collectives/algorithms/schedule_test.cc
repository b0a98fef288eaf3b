// Simulates every schedule of the list over 2 to 9 ranks and compares with the collective's plain definition.
#include "collectives/algorithms/schedule.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "collectives/algorithms/select.h"
#include "collectives/algorithms/table.h"

namespace shoal {
namespace {

using Data = std::vector<int64_t>;

// Runs all ranks' schedules round by round, in an order of ranks that makes sends late: a rank's step that
// lacks its message fails the test after everybody has had a turn.
class Simulation {
 public:
  Simulation(std::vector<Schedule> schedules, int chunk_elements, int first_chunk_extra, int slices)
      : whole_(std::move(schedules)),
        schedules_(whole_),
        ranks_(static_cast<int>(schedules_.size())),
        slices_(slices) {
    offsets_.push_back(0);
    for (int c = 0; c < schedules_[0].chunks * slices; ++c) {
      offsets_.push_back(offsets_.back() +
                         (chunk_elements == 0 ? 0 : chunk_elements + (c == 0 ? first_chunk_extra : 0)));
      biggest_ = std::max(biggest_, offsets_[c + 1] - offsets_[c]);
    }
    for (int r = 0; r < ranks_; ++r) {
      input.emplace_back(offsets_.back());
      output.emplace_back(offsets_.back(), -1);
      scratch_.emplace_back(biggest_ * schedules_[r].scratch_slots, -2);
    }
  }

  int64_t Offset(int chunk) const { return offsets_[chunk * slices_]; }
  int64_t total() const { return offsets_.back(); }

  void Run() {
    for (int slice = 0; slice < slices_; ++slice) {
      for (int r = 0; slices_ > 1 && r < ranks_; ++r) schedules_[r] = SliceOf(whole_[r], slice, slices_);
      sent_.clear();
      RunSchedules();
    }
  }

  std::vector<Data> input, output;
  size_t messages_sent = 0, elements_sent = 0;

 private:
  using Key = std::tuple<int, int, size_t>;  // from, to, round

  void RunSchedules() {
    std::vector<size_t> round(ranks_, 0);
    bool progress = true;
    while (progress) {
      progress = false;
      for (int r = ranks_ - 1; r >= 0; --r) {
        while (round[r] < schedules_[r].rounds.size() && TryRound(r, round[r])) {
          ++round[r];
          progress = true;
        }
      }
    }
    for (int r = 0; r < ranks_; ++r)
      ASSERT_EQ(round[r], schedules_[r].rounds.size()) << "rank " << r << " is stuck";
    for (const auto& [key, queue] : messages_) ASSERT_TRUE(queue.empty()) << "a message nobody wanted";
  }

  int64_t* At(int rank, const Block& block) {
    if (block.buffer == kScratchBuffer) return scratch_[rank].data() + block.slot * biggest_;
    return (block.buffer == kInputBuffer ? input : output)[rank].data() + offsets_[block.first];
  }
  int64_t Size(const Block& block) const {
    return offsets_[block.first + block.count] - offsets_[block.first];
  }

  bool TryRound(int rank, size_t round) {
    const std::vector<Step>& steps = schedules_[rank].rounds[round];
    if (sent_.insert({rank, round}).second) {
      for (const Step& step : steps) {
        if (step.kind != StepKind::kSend) continue;
        EXPECT_NE(step.peer, rank);
        const int64_t* from = At(rank, step.block);
        messages_[{rank, step.peer, round}].push_back(Data(from, from + Size(step.block)));
        ++messages_sent;
        elements_sent += Size(step.block);
      }
    }
    std::map<int, size_t> wanted;
    for (const Step& step : steps) {
      if (step.kind == StepKind::kReceive) ++wanted[step.peer];
      for (const Operand& operand : step.operands) wanted[operand.peer] += operand.peer >= 0;
    }
    for (auto [peer, count] : wanted) {
      if (messages_[{peer, rank, round}].size() < count) return false;
    }
    for (const Step& step : steps) RunStep(rank, round, step);
    return true;
  }

  Data Take(int from, int to, size_t round, int64_t size) {
    std::deque<Data>& queue = messages_[{from, to, round}];
    Data data = std::move(queue.front());
    queue.pop_front();
    EXPECT_EQ(static_cast<int64_t>(data.size()), size) << "both sides must mean the same chunks";
    data.resize(size);
    return data;
  }

  void RunStep(int rank, size_t round, const Step& step) {
    const int64_t size = Size(step.block);
    EXPECT_NE(step.kind != StepKind::kSend && step.block.buffer == kInputBuffer, true)
        << "the input is read only";
    if (step.kind == StepKind::kReceive) {
      const Data data = Take(step.peer, rank, round, size);
      std::copy(data.begin(), data.end(), At(rank, step.block));
    } else if (step.kind == StepKind::kReduce) {
      Data sum(size, 0);
      for (const Operand& operand : step.operands) {
        const Data term = operand.peer >= 0
                              ? Take(operand.peer, rank, round, size)
                              : Data(At(rank, operand.own), At(rank, operand.own) + Size(operand.own));
        ASSERT_EQ(static_cast<int64_t>(term.size()), size);
        for (int64_t i = 0; i < size; ++i) sum[i] += term[i];
      }
      std::copy(sum.begin(), sum.end(), At(rank, step.block));
    }
  }

  const std::vector<Schedule> whole_;
  std::vector<Schedule> schedules_;  // of the slice under way
  const int ranks_, slices_;
  std::vector<int64_t> offsets_;
  int64_t biggest_ = 0;
  std::vector<Data> scratch_;
  std::map<Key, std::deque<Data>> messages_;
  std::set<std::pair<int, size_t>> sent_;
};

struct Case {
  int ranks, chunk, extra, root;
  std::vector<int> host_of = {};
};

void Fill(Simulation& sim, int ranks) {
  std::mt19937_64 random(ranks);
  for (Data& data : sim.input) {
    for (int64_t& x : data) x = static_cast<int64_t>(random() % 1000003);
  }
}

int64_t SumAt(const Simulation& sim, int64_t i) {
  int64_t sum = 0;
  for (const Data& data : sim.input) sum += data[i];
  return sum;
}

void CheckReduced(Simulation& sim, const Case& c, bool scatter) {
  const auto input = sim.input;
  sim.Run();
  EXPECT_EQ(sim.input, input);
  for (int r = 0; r < c.ranks; ++r) {
    const int64_t begin = scatter ? sim.Offset(r) : 0, end = scatter ? sim.Offset(r + 1) : sim.total();
    for (int64_t i = begin; i < end; ++i)
      ASSERT_EQ(sim.output[r][i], SumAt(sim, i)) << "rank " << r << " at " << i;
  }
}

void CheckGathered(Simulation& sim, const Case& c) {
  Data want(sim.total());
  for (int r = 0; r < c.ranks; ++r) {
    for (int64_t i = sim.Offset(r); i < sim.Offset(r + 1); ++i)
      want[i] = sim.input[r][i] = sim.output[r][i] = 1000 * r + i;
  }
  sim.Run();
  for (int r = 0; r < c.ranks; ++r) ASSERT_EQ(sim.output[r], want) << "rank " << r;
}

// Chunk j of rank r's input goes to chunk r of rank j's output; only equal chunks make sense here.
void CheckExchanged(Simulation& sim, const Case& c) {
  sim.Run();
  for (int r = 0; r < c.ranks; ++r) {
    for (int j = 0; j < c.ranks; ++j) {
      for (int i = 0; j != r && i < c.chunk; ++i) {
        ASSERT_EQ(sim.output[r][sim.Offset(j) + i], sim.input[j][sim.Offset(r) + i]);
      }
    }
  }
}

void CheckBroadcast(Simulation& sim, const Case& c) {
  sim.Run();
  for (int r = 0; r < c.ranks; ++r) {
    if (r != c.root) ASSERT_EQ(sim.output[r], sim.input[c.root]) << "rank " << r;
  }
}

void Check(const Algorithm& algorithm, const Case& c) {
  const int extra = algorithm.collective == CollectiveKind::kAllToAll ? 0 : c.extra;
  std::vector<Schedule> schedules;
  for (int r = 0; r < c.ranks; ++r) schedules.push_back(algorithm.build({c.ranks, r, c.root, c.host_of}));
  Simulation sim(schedules, c.chunk, extra, schedules[0].single_chunks ? 1 + c.root % 3 : 1);
  Fill(sim, c.ranks);
  switch (algorithm.collective) {
    case CollectiveKind::kAllReduce:
      return CheckReduced(sim, c, /*scatter=*/false);
    case CollectiveKind::kReduceScatter:
      return CheckReduced(sim, c, /*scatter=*/true);
    case CollectiveKind::kAllGather:
      return CheckGathered(sim, c);
    case CollectiveKind::kAllToAll:
      return CheckExchanged(sim, c);
    case CollectiveKind::kCollectiveBroadcast:
      return CheckBroadcast(sim, c);
    case CollectiveKind::kCollectivePermute:
    case CollectiveKind::kRaggedAllToAll:
      FAIL() << "these have no algorithms";
  }
}

TEST(ScheduleTest, EveryAlgorithmEqualsItsDefinition) {
  for (const Algorithm& algorithm : AllAlgorithms()) {
    for (int ranks = 2; ranks <= 9; ++ranks) {
      for (int root = 0; root < ranks; root += 2) {
        for (const auto [chunk, extra] : {std::pair{0, 0}, {1, 0}, {3, 2}}) {
          SCOPED_TRACE(testing::Message()
                       << algorithm.name << " of collective " << static_cast<int>(algorithm.collective)
                       << ", " << ranks << " ranks, root " << root << ", chunk " << chunk << "+" << extra);
          Check(algorithm, {ranks, chunk, extra, root});
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

// Hosts of many, few and one process, in order and not.
TEST(ScheduleTest, EveryAlgorithmWorksOnEveryArrangementOfHosts) {
  const std::vector<std::vector<int>> arrangements = {
      {0, 0, 1, 1},       {0, 1, 0, 1},       {0, 0, 0, 1},
      {0, 1, 1, 1, 0},    {0, 1, 2, 0, 1, 2}, {0, 1, 2, 2, 2},
      {0, 0, 1, 1, 2, 2}, {0, 1, 1, 0, 2, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 8}};
  for (const Algorithm& algorithm : AllAlgorithms()) {
    for (const std::vector<int>& host_of : arrangements) {
      const int ranks = static_cast<int>(host_of.size());
      for (int root = 0; root < ranks; ++root) {
        for (const auto [chunk, extra] : {std::pair{0, 0}, {1, 0}, {3, 2}}) {
          SCOPED_TRACE(testing::Message()
                       << algorithm.name << " of collective " << static_cast<int>(algorithm.collective)
                       << ", hosts " << testing::PrintToString(host_of) << ", root " << root << ", chunk "
                       << chunk << "+" << extra);
          Check(algorithm, {ranks, chunk, extra, root, host_of});
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

// How often the data as a whole leaves host 0 for others.
double TimesSent(ScheduleBuilder build, const std::vector<int>& host_of) {
  double sent = 0;
  for (size_t r = 0; r < host_of.size(); ++r) {
    if (host_of[r] != 0) continue;
    const Schedule schedule = build({static_cast<int>(host_of.size()), static_cast<int>(r), 0, host_of});
    for (const auto& round : schedule.rounds) {
      for (const Step& step : round) {
        const bool leaves = step.kind == StepKind::kSend && host_of[step.peer] != 0;
        sent += leaves ? static_cast<double>(step.block.count) / schedule.chunks : 0;
      }
    }
  }
  return sent;
}

TEST(ScheduleTest, BetweenHostsEachByteGoesOnce) {
  const std::vector<int> two = {0, 0, 1, 1}, three = {0, 1, 2, 2, 1, 0};
  EXPECT_DOUBLE_EQ(TimesSent(HierarchicalAllReduce, two), 1);
  EXPECT_DOUBLE_EQ(TimesSent(HierarchicalAllGather, two), 0.5);
  EXPECT_DOUBLE_EQ(TimesSent(HierarchicalReduceScatter, two), 0.5);
  EXPECT_DOUBLE_EQ(TimesSent(HierarchicalBroadcast, two), 1);
  EXPECT_DOUBLE_EQ(TimesSent(HierarchicalAllReduce, three), 4. / 3);
  EXPECT_DOUBLE_EQ(TimesSent(HierarchicalAllGather, three), 2. / 3);
  EXPECT_DOUBLE_EQ(TimesSent(HierarchicalReduceScatter, three), 2. / 3);
}

// The promises of the table's "good for": rounds and bytes.
TEST(ScheduleTest, RoundsAreAsFewAsPromised) {
  for (int ranks = 2; ranks <= 9; ++ranks) {
    int log = 0;
    while ((1 << log) < ranks) ++log;
    EXPECT_EQ(LinearAllReduce({ranks}).rounds.size(), 1u);
    EXPECT_EQ(DirectAllReduce({ranks}).rounds.size(), 2u);
    EXPECT_EQ(static_cast<int>(BruckAllGather({ranks}).rounds.size()), log);
    EXPECT_EQ(static_cast<int>(BinomialBroadcast({ranks}).rounds.size()), log);
    EXPECT_EQ(static_cast<int>(RingAllReduce({ranks}).rounds.size()), 2 * (ranks - 1));
  }
}

TEST(ScheduleTest, Prints) {
  EXPECT_EQ(ToString(DirectAllReduce({3, 1})),
            "direct: 3 chunks\n"
            "0: send in[2] to 2; send in[0] to 0; out[1] = from 0 + in[1] + from 2\n"
            "1: send out[1] to 2; send out[1] to 0; out[2] from 2; out[0] from 0\n");
}

TEST(ScheduleTest, EvenChunksCoverAndAlign) {
  EXPECT_EQ(EvenChunks(0, 3, 16), (std::vector<int64_t>{0, 0, 0, 0}));
  EXPECT_EQ(EvenChunks(7, 3, 16), (std::vector<int64_t>{0, 3, 5, 7}));
  EXPECT_EQ(EvenChunks(101, 3, 16), (std::vector<int64_t>{0, 32, 64, 101}));
}

TEST(SelectTest, EverySituationHasAnAlgorithmAndSmallDataIsLinear) {
  for (const Algorithm& algorithm : AllAlgorithms()) {
    for (int ranks : {2, 3, 5, 64, 1000}) {
      for (int64_t bytes : {int64_t{0}, int64_t{4}, int64_t{1} << 20, int64_t{1} << 33}) {
        for (int hosts : {1, (ranks + 1) / 2, ranks}) {
          const Situation situation{ranks, bytes, hosts};
          const Algorithm& chosen = SelectAlgorithm(algorithm.collective, situation);
          EXPECT_EQ(chosen.collective, algorithm.collective);
          EXPECT_TRUE(chosen.applies(situation));
        }
      }
    }
  }
  EXPECT_EQ(SelectAlgorithm(CollectiveKind::kAllReduce, {4, 1024}).name, "linear");
  EXPECT_EQ(SelectAlgorithm(CollectiveKind::kAllReduce, {4, 32 << 20}).name, "direct");
  EXPECT_EQ(SelectAlgorithm(CollectiveKind::kAllReduce, {16, 1 << 30, 16}).name, "ring");
  EXPECT_EQ(SelectAlgorithm(CollectiveKind::kAllReduce, {4, 32 << 20, 2}).name, "hierarchical");
}

TEST(SelectTest, WishesGoFirstAndNonsenseIsNamed) {
  const Situation small{4, 1024};
  EXPECT_EQ(SelectAlgorithm(CollectiveKind::kAllReduce, small, "all-gather=bruck,all-reduce=ring").name,
            "ring");
  EXPECT_EQ(SelectAlgorithm(CollectiveKind::kReduceScatter, small, "all-gather=bruck").name, "direct");
  EXPECT_TRUE(CheckAlgorithms("").ok());
  EXPECT_TRUE(CheckAlgorithms("all-reduce=halving_doubling,collective-broadcast=binomial").ok());
  const std::string message(CheckAlgorithms("all-reduce=ring,all-reduce=bruck").message());
  EXPECT_NE(message.find("'all-reduce=bruck' names no algorithm"), std::string::npos) << message;
  EXPECT_NE(message.find("all-gather=bruck"), std::string::npos) << message;
}

TEST(SelectTest, ATableGoesBeforeTheListAndAfterWishes) {
  const auto table = AlgorithmTable::Parse(
      "shoal-table 1\n"
      "# measured by nobody\n"
      "all-reduce one-host 4 - ring\n"
      "all-reduce one-host 4 1000 halving_doubling  # small\n"
      "all-reduce one-host 64 - linear\n"
      "all-gather shared-hosts 8 - bruck\n");
  ASSERT_TRUE(table.ok()) << table.status();
  const auto name = [&](CollectiveKind kind, const Situation& situation, const char* wishes = "") {
    return SelectAlgorithm(kind, situation, wishes, &*table).name;
  };
  EXPECT_EQ(name(CollectiveKind::kAllReduce, {4, 1000}), "halving_doubling");
  EXPECT_EQ(name(CollectiveKind::kAllReduce, {4, 1001}), "ring");
  EXPECT_EQ(name(CollectiveKind::kAllReduce, {9, 1001}), "ring");  // 9 is nearer to 4 than to 64
  EXPECT_EQ(name(CollectiveKind::kAllReduce, {32, 1001}), "linear");
  EXPECT_EQ(name(CollectiveKind::kAllReduce, {4, 1001}, "all-reduce=direct"), "direct");
  EXPECT_EQ(name(CollectiveKind::kAllReduce, {4, 1 << 30, 2}), "hierarchical");  // no row for such hosts
  EXPECT_EQ(name(CollectiveKind::kAllGather, {8, 1 << 20, 2}), "bruck");
  EXPECT_EQ(name(CollectiveKind::kAllGather, {8, 1 << 20, 8}), "ring");
}

TEST(SelectTest, ATableThatMeansNothingIsAnError) {
  for (const char* text :
       {"", "all-reduce one-host 4 - ring", "shoal-table 1\nall-reduce one-host 4 - bruck",
        "shoal-table 1\nall-reduce one-host 1 - ring", "shoal-table 1\n\nall-reduce some-host 4 - ring",
        "shoal-table 1\nall-reduce one-host 4 -1 ring", "shoal-table 1\nall-reduce one-host 4 ring"}) {
    EXPECT_EQ(AlgorithmTable::Parse(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace shoal

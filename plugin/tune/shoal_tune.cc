// shoal-tune: measures the algorithms of collectives between the processes of a job on these machines, by
// operation, size, number of processes and arrangement, and writes the table that SHOAL_TUNING names
// (collectives/algorithms/table.h). A process of its own; see kHelp.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "collectives/algorithms/select.h"
#include "collectives/algorithms/table.h"
#include "collectives/communicator/collective_world.h"
#include "core/base/status.h"
#include "launcher/rendezvous/job.h"

namespace shoal {
namespace {

constexpr char kHelp[] =
    "usage: shoal-tune [-o FILE] [--max-bytes N]\n"
    "\n"
    "Started as the processes of a job, measures the algorithms of collectives between them and writes a\n"
    "table of the best, for example\n"
    "    shoalrun -n 4 shoal-tune -o shoal-table.txt\n"
    "    SHOAL_TUNING=shoal-table.txt shoalrun -n 4 python train.py\n"
    "\n"
    "  -o FILE         where the table goes; without it, to standard output\n"
    "  --max-bytes N   the largest data (default 33554432)\n"
    "\n"
    "What was measured stands in the table as comments. On several hosts it also measures groups of one\n"
    "host's processes and groups of one process a host.\n";

struct Arguments {
  std::string output;
  int64_t max_bytes = 32 << 20;
};

constexpr CollectiveKind kKinds[] = {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                     CollectiveKind::kReduceScatter, CollectiveKind::kAllToAll,
                                     CollectiveKind::kCollectiveBroadcast};
constexpr int64_t kLeastBytes = 1 << 10, kGrowth = 4;
// Of a measurement: loops that move about so much each, of which the best counts.
constexpr int64_t kLoopBytes = 8 << 20, kMostCalls = 100, kLeastCalls = 3, kLoops = 4;
// The built-in choice stays where another is not better by this much.
constexpr double kWorthAChange = 0.95;

// Groups that do the same at a time, and what each of them is.
struct Arrangement {
  Situation situation;  // without bytes
  std::vector<std::vector<PartitionId>> groups;
};

// All processes; where hosts have equally many, also those of each host, and those of the same place on each.
std::vector<Arrangement> ArrangementsOf(const Topology& topology) {
  std::map<HostId, std::vector<PartitionId>> hosts;
  std::vector<PartitionId> all;
  for (int p = 0; p < topology.process_count(); ++p) {
    all.push_back(PartitionId(p));
    hosts[topology.process(ProcessId(p)).host].push_back(PartitionId(p));
  }
  const int count = static_cast<int>(hosts.size()), each = static_cast<int>(all.size()) / count;
  std::vector<Arrangement> arrangements = {{{static_cast<int>(all.size()), 0, count}, {all}}};
  const bool even = std::all_of(hosts.begin(), hosts.end(), [&](const auto& host) {
    return static_cast<int>(host.second.size()) == each;
  });
  if (count == 1 || each == 1 || !even) return arrangements;
  Arrangement inside{{each, 0, 1}, {}}, across{{count, 0, count}, {}};
  for (const auto& [host, members] : hosts) inside.groups.push_back(members);
  for (int k = 0; k < each; ++k) {
    std::vector<PartitionId>& group = across.groups.emplace_back();
    for (const auto& [host, members] : hosts) group.push_back(members[k]);
  }
  arrangements.push_back(std::move(inside));
  arrangements.push_back(std::move(across));
  return arrangements;
}

class Tuner {
 public:
  absl::Status Join(const Arguments& arguments) {
    SHOAL_ASSIGN_OR_RETURN(job_, Job::Join({}));
    const int processes = job_->topology().process_count();
    if (processes < 2) return absl::InvalidArgumentError("there is one process only: nothing to measure");
    SHOAL_ASSIGN_OR_RETURN(const CollectiveOptions options, CollectiveOptions::FromFlags());
    SHOAL_ASSIGN_OR_RETURN(world_, CollectiveWorld::Create(job_->topology(), job_->store(), options));
    for (int p = 0; p < processes; ++p) assignment_.push_back(DeviceId(p));
    SHOAL_ASSIGN_OR_RETURN(barrier_, world_->GetCommunicator(assignment_));
    in_.assign(arguments.max_bytes / sizeof(float) + processes, 1);
    out_ = in_;
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Table(int64_t max_bytes) {
    std::string table = absl::StrCat("shoal-table 1\n# ", job_->topology().process_count(), " processes, ",
                                     job_->topology().process(ProcessId(0)).host_name, "\n");
    for (const Arrangement& arrangement : ArrangementsOf(job_->topology())) {
      for (CollectiveKind kind : kKinds) {
        SHOAL_RETURN_IF_ERROR(AddRows(arrangement, kind, max_bytes, &table));
      }
    }
    return table;
  }

  bool writes() const { return job_->topology().self == ProcessId(0); }

 private:
  // Rows of one collective, a comment with figures before each; sizes of one choice are one row.
  absl::Status AddRows(const Arrangement& arrangement, CollectiveKind kind, int64_t max_bytes,
                       std::string* table) {
    const absl::string_view place = ArrangementName(arrangement.situation);
    const Algorithm* before = nullptr;
    std::string figures;
    for (int64_t bytes = kLeastBytes; bytes <= max_bytes; bytes *= kGrowth) {
      const Algorithm* best = nullptr;
      SHOAL_RETURN_IF_ERROR(Measure(arrangement, kind, bytes, &best, &figures));
      if (before != nullptr && best != before) {
        // The border is half-way, as sizes go.
        absl::StrAppend(table, CollectiveName(kind), " ", place, " ", arrangement.situation.ranks, " ",
                        bytes / 2, " ", before->name, "\n");
      }
      absl::StrAppend(table, std::exchange(figures, ""));
      before = best;
    }
    absl::StrAppend(table, CollectiveName(kind), " ", place, " ", arrangement.situation.ranks, " - ",
                    before->name, "\n");
    return absl::OkStatus();
  }

  absl::Status Measure(const Arrangement& arrangement, CollectiveKind kind, int64_t bytes,
                       const Algorithm** best, std::string* figures) {
    Situation situation = arrangement.situation;
    situation.bytes = bytes;
    const Algorithm* built_in = &SelectAlgorithm(kind, situation);
    std::vector<std::pair<const Algorithm*, double>> times;
    for (const Algorithm& algorithm : AllAlgorithms()) {
      // On one host it is another of the list.
      const bool same = algorithm.name == "hierarchical" && !situation.shares_hosts();
      if (algorithm.collective == kind && !same)
        times.emplace_back(&algorithm, std::numeric_limits<double>::max());
    }
    // In turn, so that all see the same machine.
    for (int64_t loop = 0; loop < kLoops; ++loop) {
      for (auto& [algorithm, seconds] : times) {
        SHOAL_ASSIGN_OR_RETURN(const double once, Loop(arrangement, kind, bytes, *algorithm));
        seconds = std::min(seconds, once);
      }
    }
    absl::StrAppend(figures, "# ", CollectiveName(kind), " ", bytes, " bytes:");
    double least = std::numeric_limits<double>::max();
    for (const auto& [algorithm, seconds] : times) {
      absl::StrAppendFormat(figures, " %s %.1f us", algorithm->name, seconds * 1e6);
      const double weighed = algorithm == built_in ? seconds * kWorthAChange : seconds;
      if (weighed >= least) continue;
      least = weighed;
      *best = algorithm;
    }
    absl::StrAppend(figures, "\n");
    return absl::OkStatus();
  }

  // Seconds of one call.
  absl::StatusOr<double> Loop(const Arrangement& arrangement, CollectiveKind kind, int64_t bytes,
                              const Algorithm& algorithm) {
    const std::string wish = absl::StrCat(CollectiveName(kind), "=", algorithm.name);
    SHOAL_ASSIGN_OR_RETURN(const auto communicator, world_->GetCommunicatorWith(assignment_, wish));
    const CollectiveOp op = MakeOp(arrangement, kind, bytes);
    const int64_t calls = std::clamp(kLoopBytes / bytes, kLeastCalls, kMostCalls);
    SHOAL_RETURN_IF_ERROR(Call(*communicator, op));  // plans, and connects what is not connected yet
    SHOAL_RETURN_IF_ERROR(Barrier());
    const absl::Time start = absl::Now();
    for (int64_t i = 0; i < calls; ++i) SHOAL_RETURN_IF_ERROR(Call(*communicator, op));
    SHOAL_RETURN_IF_ERROR(Barrier());
    // The choice must be everybody's: process 0 alone writes, by its own clock.
    return absl::ToDoubleSeconds(absl::Now() - start) / static_cast<double>(calls);
  }

  CollectiveOp MakeOp(const Arrangement& arrangement, CollectiveKind kind, int64_t bytes) {
    CollectiveOp op{kind};
    const int64_t part =
        std::max<int64_t>(1, bytes / static_cast<int64_t>(sizeof(float)) / arrangement.situation.ranks);
    const bool parts = kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter;
    const int64_t elements = parts ? part : part * arrangement.situation.ranks;
    op.arrays = {{ElementType::kF32, elements, {1, part}, {1, part}}};
    op.groups = arrangement.groups;
    op.number = ++operations_;
    op.name = absl::StrCat(CollectiveName(kind), " of ", bytes, " bytes");
    return op;
  }

  absl::Status Barrier() {
    CollectiveOp op{CollectiveKind::kAllReduce};
    op.arrays = {{ElementType::kF32, 1, {1, 1}, {1, 1}}};
    op.name = "barrier";
    return Call(*barrier_, op);
  }

  absl::Status Call(Communicator& communicator, const CollectiveOp& op) {
    const void* inputs[] = {in_.data()};
    void* outputs[] = {out_.data()};
    const PartitionId self(job_->topology().self.value());
    return communicator.Start(op, {RunId(1), ++calls_, self, inputs, outputs, /*idle=*/true}).Await();
  }

  std::unique_ptr<Job> job_;
  std::unique_ptr<CollectiveWorld> world_;
  std::vector<DeviceId> assignment_;
  std::shared_ptr<Communicator> barrier_;
  std::vector<float> in_, out_;
  int64_t operations_ = 0, calls_ = 0;
};

[[noreturn]] void Refuse(const std::string& why) {
  std::fprintf(stderr, "shoal-tune: %s\n\n%s", why.c_str(), kHelp);
  std::exit(2);
}

Arguments Parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const absl::string_view flag = argv[i];
    if (flag == "-h" || flag == "--help") {
      std::fputs(kHelp, stdout);
      std::exit(0);
    }
    if (flag != "-o" && flag != "--max-bytes") Refuse(absl::StrCat("no such option: ", flag));
    if (++i == argc) Refuse(absl::StrCat(flag, " needs a value"));
    if (flag == "-o") {
      arguments.output = argv[i];
    } else if (!absl::SimpleAtoi(argv[i], &arguments.max_bytes) || arguments.max_bytes < kLeastBytes) {
      Refuse(absl::StrCat("--max-bytes wants a number from ", kLeastBytes, " on, not ", argv[i]));
    }
  }
  return arguments;
}

absl::Status Tune(const Arguments& arguments) {
  Tuner tuner;
  SHOAL_RETURN_IF_ERROR(tuner.Join(arguments));
  SHOAL_ASSIGN_OR_RETURN(const std::string table, tuner.Table(arguments.max_bytes));
  if (!tuner.writes()) return absl::OkStatus();
  SHOAL_RETURN_IF_ERROR(AlgorithmTable::Parse(table).status());
  if (arguments.output.empty()) {
    std::fputs(table.c_str(), stdout);
    return absl::OkStatus();
  }
  std::ofstream file(arguments.output);
  file << table << std::flush;
  if (!file) return absl::PermissionDeniedError(absl::StrCat("cannot write '", arguments.output, "'"));
  return absl::OkStatus();
}

}  // namespace
}  // namespace shoal

int main(int argc, char** argv) {
  const absl::Status status = shoal::Tune(shoal::Parse(argc, argv));
  if (!status.ok()) std::fprintf(stderr, "shoal-tune: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}

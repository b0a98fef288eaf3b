// One process of a real job, for processes_test and for timing by hand:
//   collectives_process SCENARIO FOLDER PROCESSES DEVICES [RANK]
// Without RANK the rank comes from mpirun. FOLDER holds the store. SHOAL_SHM and SHOAL_TIMEOUT_S work as
// always. With PER_HOST so many of them are on a host, which may be a network namespace. Prints a line "ok
// ..." or "error ...", and exits with 0 if the scenario went as it should for this process.
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "collectives/algorithms/select.h"
#include "collectives/communicator/collective_world.h"
#include "collectives/transport/mpi.h"
#include "launcher/store/file_store.h"

namespace shoal {
namespace {

constexpr CollectiveKind kKinds[] = {
    CollectiveKind::kAllReduce, CollectiveKind::kAllGather,         CollectiveKind::kReduceScatter,
    CollectiveKind::kAllToAll,  CollectiveKind::kCollectivePermute, CollectiveKind::kCollectiveBroadcast};

class Process {
 public:
  Process(const std::string& folder, int processes, int devices, int rank)
      : store_(*FileStore::Open(folder + "/store")),
        rank_(rank),
        devices_(devices),
        partitions_(processes * devices) {
    topology_.self = ProcessId(rank);
    topology_.job = "processes_test";
    const char* per_host = getenv("PER_HOST");
    for (int p = 0; p < processes; ++p) {
      ProcessInfo info;
      info.host_name = "testhost";
      if (per_host != nullptr) info.host = HostId(p / atoi(per_host));
      info.num_devices = devices;
      info.first_device = DeviceId(p * devices);
      topology_.processes.push_back(info);
    }
  }

  absl::Status Connect() {
    if (absl::Status s = store_->Set(absl::StrCat("pid/", rank_), absl::StrCat(getpid())); !s.ok()) return s;
    for (int p = 0; p < topology_.process_count(); ++p) {
      auto pid = store_->Get(absl::StrCat("pid/", p), absl::Seconds(20));
      if (!pid.ok()) return pid.status();
      topology_.processes[p].pid = atoi(pid->c_str());
    }
    auto options = CollectiveOptions::FromFlags();
    if (!options.ok()) return options.status();
    auto world = CollectiveWorld::Create(topology_, store_.get(), *options);
    if (!world.ok()) return world.status();
    world_ = *std::move(world);
    std::vector<DeviceId> assignment;
    for (int d = 0; d < partitions_; ++d) assignment.push_back(DeviceId(d));
    auto communicator = world_->GetCommunicator(assignment);
    if (!communicator.ok()) return communicator.status();
    communicator_ = *communicator;
    return absl::OkStatus();
  }

  CollectiveOp MakeOp(CollectiveKind kind, int64_t elements, int64_t number, uint64_t program = 5) const {
    CollectiveOp op{kind};
    const int64_t part = elements / partitions_;
    if (kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter) {
      op.arrays = {{ElementType::kF32, part, {1, part}, {1, part}}};
    } else {
      op.arrays = {{ElementType::kF32, part * partitions_, {1, part}, {1, part}}};
    }
    for (int p = 0; p < partitions_; ++p)
      op.pairs.emplace_back(PartitionId(p), PartitionId((p + 1) % partitions_));
    if (kind != CollectiveKind::kCollectivePermute) op.pairs.clear();
    op.number = number;
    op.program_fingerprint = program;
    op.name = absl::StrCat(CollectiveName(kind), ".", number, " f32[", elements, "]");
    return op;
  }

  // All devices of this process; `elements` in and out at most.
  absl::Status RunOp(const CollectiveOp& op, int64_t run, const std::vector<std::vector<float>>& in,
                     std::vector<std::vector<float>>* out, int64_t instance = 0) {
    std::vector<Future> futures;
    for (int d = 0; d < devices_; ++d) {
      const void* inputs[] = {in[d].data()};
      void* outputs[] = {(*out)[d].data()};
      futures.push_back(communicator_->Start(op, {RunId(run), instance, PartitionId(rank_ * devices_ + d),
                                                  inputs, outputs, /*idle=*/d + 1 == devices_}));
    }
    return Join(futures).Await();
  }

  // Checks every kind at several sizes; the values tell partition and position.
  absl::Status Check() {
    int64_t number = 0;
    std::vector<int> everyone(partitions_);
    std::iota(everyone.begin(), everyone.end(), 0);
    for (CollectiveKind kind : kKinds) {
      for (int64_t part : {0, 1, 77, 5003, 300007}) {
        const int64_t elements = part * partitions_;
        const CollectiveOp op = MakeOp(kind, elements, number++);
        std::vector<std::vector<float>> in(devices_), out(devices_, std::vector<float>(elements, -1));
        for (int d = 0; d < devices_; ++d) {
          for (int64_t i = 0; i < elements; ++i) in[d].push_back(Value(rank_ * devices_ + d, i));
        }
        if (absl::Status status = RunOp(op, 1, in, &out); !status.ok()) return status;
        for (int d = 0; d < devices_; ++d) {
          if (!Matches(kind, everyone, rank_ * devices_ + d, part, out[d])) {
            return absl::InternalError(absl::StrCat("wrong values in ", op.name));
          }
        }
      }
    }
    return absl::OkStatus();
  }

  // Random collectives of random sizes, groups and orders, several under way at a time. Every process draws
  // the same numbers.
  absl::Status Soak(int64_t rounds) {
    std::mt19937 random(2026);
    for (int64_t run = 100; run < 100 + rounds; ++run) {
      std::vector<Drawn> drawn(1 + random() % 5);
      for (size_t k = 0; k < drawn.size(); ++k) drawn[k] = Draw(&random, run * 8 + static_cast<int64_t>(k));
      std::vector<Future> futures;
      for (size_t k = 0; k < drawn.size(); ++k) {
        // Each process in another order.
        Drawn& one = drawn[(k * 7 + rank_) % drawn.size()];
        for (int d = 0; d < devices_; ++d) {
          const void* inputs[] = {one.in[d].data()};
          void* outputs[] = {one.out[d].data()};
          futures.push_back(communicator_->Start(
              one.op, {RunId(run), 0, PartitionId(rank_ * devices_ + d), inputs, outputs}));
        }
        if (drawn.size() % 7 == 0 || random() % 64 == 0) absl::SleepFor(absl::Microseconds(random() % 300));
      }
      if (absl::Status status = Join(futures).Await(); !status.ok()) return status;
      for (const Drawn& one : drawn) {
        for (int d = 0; d < devices_; ++d) {
          const int self = rank_ * devices_ + d;
          const std::vector<int>& group = one.groups[one.group_of[self]];
          const int rank = static_cast<int>(std::find(group.begin(), group.end(), self) - group.begin());
          if (Matches(one.op.kind, group, rank, one.part, one.out[d])) continue;
          return absl::InternalError(absl::StrCat("wrong values in run ", run, ", ", one.op.name));
        }
      }
    }
    return absl::OkStatus();
  }

  static double CpuSeconds() {
    timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return absl::ToDoubleSeconds(absl::DurationFromTimespec(used));
  }

  // The best time of each, and the processor time that this process spends on one.
  void Time() {
    int64_t number = 1000;
    for (CollectiveKind kind : kKinds) {
      for (int64_t elements : {256, 256 << 10, 8 << 20}) {
        const CollectiveOp op = MakeOp(kind, elements, number++);
        std::vector<std::vector<float>> in(devices_, std::vector<float>(elements, 1)), out = in;
        double best = 1e9;
        const int repeats = elements > (1 << 20) ? 8 : 60;
        const double cpu = CpuSeconds();
        for (int64_t i = 0; i < repeats; ++i) {
          const absl::Time start = absl::Now();
          if (absl::Status status = RunOp(op, 1, in, &out, i); !status.ok())
            std::cout << "error " << status << "\n";
          best = std::min(best, absl::ToDoubleSeconds(absl::Now() - start));
        }
        if (rank_ == 0)
          printf("%-20s %8lld KiB %10.3f ms, cpu %8.3f ms\n", std::string(CollectiveName(kind)).c_str(),
                 static_cast<long long>(elements * 4 / 1024), best * 1e3,
                 (CpuSeconds() - cpu) / repeats * 1e3);
      }
    }
  }

  Communicator& communicator() { return *communicator_; }
  CollectiveWorld& world() { return *world_; }
  int rank() const { return rank_; }
  void Close() {
    communicator_.reset();
    world_.reset();
  }

 private:
  struct Drawn {
    CollectiveOp op;
    int64_t part;
    std::vector<std::vector<int>> groups;
    std::vector<int> group_of;
    std::vector<std::vector<float>> in, out;
  };

  Drawn Draw(std::mt19937* random, int64_t number) const {
    Drawn drawn;
    const CollectiveKind kind = kKinds[(*random)() % 6];
    const int strides[] = {1, 1, 2, partitions_};  // group g holds the partitions p with p % stride == g
    int stride = strides[(*random)() % 4];
    if (kind == CollectiveKind::kCollectivePermute || partitions_ % stride != 0) stride = 1;
    drawn.groups.resize(stride);
    drawn.group_of.resize(partitions_);
    for (int p = 0; p < partitions_; ++p) {
      drawn.group_of[p] = p % stride;
      drawn.groups[p % stride].push_back(p);
    }
    const int n = partitions_ / stride;
    drawn.part = (*random)() % (int64_t{1} << (*random)() % 18);
    drawn.op = MakeOp(kind, drawn.part * partitions_, number);
    CollectiveArray& array = drawn.op.arrays[0];
    if (array.elements != drawn.part) array.elements = drawn.part * n;
    if (stride > 1) {
      for (const auto& group : drawn.groups) {
        auto& ids = drawn.op.groups.emplace_back();
        for (int p : group) ids.push_back(PartitionId(p));
      }
    }
    for (int d = 0; d < devices_; ++d) {
      drawn.out.emplace_back(drawn.part * n, -1);
      std::vector<float>& in = drawn.in.emplace_back();
      for (int64_t i = 0; i < drawn.part * n; ++i) in.push_back(Value(rank_ * devices_ + d, i));
    }
    return drawn;
  }

  static float Value(int partition, int64_t i) { return static_cast<float>((partition * 31 + i) % 1021); }

  // Whether `out` is right for rank `self` of a group of these partitions (of a permute: of all of them).
  static bool Matches(CollectiveKind kind, const std::vector<int>& members, int self, int64_t part,
                      const std::vector<float>& out) {
    const int n = static_cast<int>(members.size());
    const bool short_out = kind == CollectiveKind::kReduceScatter;
    for (int64_t i = 0; i < (short_out ? part : part * n); ++i) {
      float want = 0;
      const int owner = part == 0 ? 0 : members[i / part];
      switch (kind) {
        case CollectiveKind::kAllReduce:
          for (int p : members) want += Value(p, i);
          break;
        case CollectiveKind::kReduceScatter:
          for (int p : members) want += Value(p, self * part + i);
          break;
        case CollectiveKind::kAllGather:
          want = Value(owner, i % part);
          break;
        case CollectiveKind::kAllToAll:
          want = Value(owner, self * part + i % part);
          break;
        case CollectiveKind::kCollectivePermute:
          want = Value(members[(self + n - 1) % n], i);
          break;
        case CollectiveKind::kCollectiveBroadcast:
          want = Value(members[0], i);
          break;
      }
      if (out[i] != want) return false;
    }
    return true;
  }

  std::unique_ptr<FileStore> store_;
  Topology topology_;
  const int rank_, devices_, partitions_;
  std::unique_ptr<CollectiveWorld> world_;
  std::shared_ptr<Communicator> communicator_;
};

// One all-reduce that all come to, then what the scenario wants; the survivors print the error they get.
int Fault(Process* process, const std::string& scenario) {
  const CollectiveOp first = process->MakeOp(CollectiveKind::kAllReduce, 1200, 0);
  std::vector<std::vector<float>> in(1, std::vector<float>(1200, 1)), out = in;
  if (absl::Status status = process->RunOp(first, 1, in, &out); !status.ok()) {
    std::cout << "error too early: " << status << std::endl;
    return 3;
  }
  const bool odd_one = process->rank() == 1;
  if (odd_one && scenario == "kill") raise(SIGKILL);
  if (odd_one && scenario == "absent") absl::SleepFor(absl::Seconds(4));
  CollectiveOp next = process->MakeOp(CollectiveKind::kAllReduce, 1200, 1);
  if (odd_one && scenario == "other_operation") next = process->MakeOp(CollectiveKind::kAllGather, 600, 1);
  if (odd_one && scenario == "other_shape") next = process->MakeOp(CollectiveKind::kAllReduce, 600, 1);
  if (odd_one && scenario == "other_program") next.program_fingerprint = 6;
  if (odd_one && scenario == "abort") {
    process->communicator().Abort(RunId(2), absl::InvalidArgumentError("process 1 raised ValueError"));
  }
  const absl::Time start = absl::Now();
  const absl::Status status = process->RunOp(next, 2, in, &out);
  std::cout << (status.ok() ? "ok " : "error ") << status << " after "
            << absl::ToInt64Milliseconds(absl::Now() - start) << " ms" << std::endl;
  if (scenario != "kill") {  // the run failed, not the world: the next run works
    const absl::Status again =
        process->RunOp(process->MakeOp(CollectiveKind::kAllReduce, 1200, 0), 3, in, &out);
    std::cout << (again.ok() ? "again ok" : "again error ") << again << std::endl;
  } else {
    // The word of another survivor can come before this process itself has noticed the death.
    const absl::Time limit = absl::Now() + absl::Seconds(2);
    while (!absl::StrContains(process->world().Health().message(), "process 1") && absl::Now() < limit) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    std::cout << "health " << process->world().Health() << std::endl;
  }
  return status.ok() ? 4 : 0;
}

int Main(int argc, char** argv) {
  if (argc < 5) return 2;
  const std::string scenario = argv[1];
  const char* mpi_rank = getenv("OMPI_COMM_WORLD_RANK");
  const int rank = argc > 5 ? atoi(argv[5]) : mpi_rank != nullptr ? atoi(mpi_rank) : 0;
  Process process(argv[2], atoi(argv[3]), atoi(argv[4]), rank);
  absl::Status status = process.Connect();
  if (status.ok() && scenario == "time") process.Time();
  if (status.ok() && scenario == "check") status = process.Check();
  if (status.ok() && scenario == "soak")
    status = process.Soak(getenv("ROUNDS") != nullptr ? atoi(getenv("ROUNDS")) : 200);
  const bool is_fault = scenario != "time" && scenario != "check" && scenario != "soak";
  if (status.ok() && is_fault) return Fault(&process, scenario);
  process.Close();
  std::cout << (status.ok() ? "ok " : "error ") << status << std::endl;
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace shoal

int main(int argc, char** argv) { return shoal::Main(argc, argv); }

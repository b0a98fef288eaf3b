// A whole job inside one test process: several worlds over in-process or shared-memory wires, and the plain
// definition of every collective to compare with.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collectives/communicator/wired_world.h"
#include "collectives/transport/in_process_wire.h"
#include "collectives/transport/shm_wire.h"
#include "core/base/topology.h"
#include "core/types/element_type.h"
#include "launcher/store/memory_store.h"

namespace shoal {

inline Topology MakeTopology(const std::vector<int>& devices, int self, const std::string& job,
                             int per_host = 0) {
  Topology topology;
  topology.self = ProcessId(self);
  topology.job = job;
  int first = 0;
  for (int count : devices) {
    ProcessInfo info;
    info.host_name = "testhost";
    info.pid = getpid();
    info.num_devices = count;
    if (per_host > 0) info.host = HostId(static_cast<int>(topology.processes.size()) / per_host);
    info.first_device = DeviceId(first);
    first += count;
    topology.processes.push_back(info);
  }
  return topology;
}

enum class WireKind { kInProcess, kInProcessPieces, kInProcessPushes, kShm, kShmTwoCopies };

inline std::string NameOfWire(WireKind kind) {
  constexpr const char* kNames[] = {"InProcess", "InProcessPieces", "InProcessPushes", "Shm", "ShmTwoCopies"};
  return kNames[static_cast<int>(kind)];
}

using Bytes = std::vector<char>;

class Job {
 public:
  // With `per_host` so many processes say that they share a host, and its cores; without, all do.
  Job(std::vector<int> devices, WireKind kind, CollectiveOptions options = {},
      InProcessHub::Faults faults = {}, int per_host = 0)
      : devices_(std::move(devices)) {
    const int processes = static_cast<int>(devices_.size());
    const std::string name = absl::StrCat("test", getpid(), "_", reinterpret_cast<uintptr_t>(this));
    faults.pushes = kind == WireKind::kInProcessPushes;
    faults.no_pull = faults.pushes || kind == WireKind::kInProcessPieces;
    hub_ = std::make_unique<InProcessHub>(processes, faults);
    std::vector<std::unique_ptr<ShmWire>> shm(processes);
    if (processes > 1 && (kind == WireKind::kShm || kind == WireKind::kShmTwoCopies)) {
      std::vector<std::thread> threads;
      for (int p = 0; p < processes; ++p) {
        threads.emplace_back([&, p] {
          auto wire = ShmWire::Create(MakeTopology(devices_, p, name), &store_, absl::Seconds(10),
                                      kind == WireKind::kShm);
          EXPECT_TRUE(wire.ok()) << wire.status();
          if (wire.ok()) shm[p] = *std::move(wire);
        });
      }
      for (std::thread& thread : threads) thread.join();
    }
    for (int p = 0; p < processes; ++p) {
      std::vector<std::unique_ptr<Wire>> wires;
      Doorbell* doorbell = nullptr;
      if (shm[p] != nullptr) {
        doorbell = shm[p]->doorbell();
        wires.push_back(std::move(shm[p]));
      } else if (processes > 1) {
        doorbell = hub_->doorbell(ProcessId(p));
        wires.push_back(hub_->MakeWire(ProcessId(p)));
      }
      worlds_.push_back(std::make_unique<WiredWorld>(MakeTopology(devices_, p, name, per_host),
                                                     std::move(wires), doorbell, options));
    }
    std::vector<DeviceId> assignment;
    for (int d = 0; d < partitions(); ++d) assignment.push_back(DeviceId(d));
    SetAssignment(assignment);
  }
  ~Job() {
    communicators_.clear();
    // All at once, as processes end: each may have a last word for another.
    std::vector<std::thread> threads;
    for (auto& world : worlds_) threads.emplace_back([&world] { world.reset(); });
    for (std::thread& thread : threads) thread.join();
  }

  int partitions() const { return std::accumulate(devices_.begin(), devices_.end(), 0); }
  void SetAssignment(std::vector<DeviceId> assignment) {
    assignment_ = std::move(assignment);
    communicators_.clear();
    for (auto& world : worlds_) communicators_.push_back(*world->GetCommunicator(assignment_));
  }
  int ProcessOf(int partition) const {
    int device = assignment_[partition].value(), process = 0;
    while (device >= devices_[process]) device -= devices_[process++];
    return process;
  }
  Communicator& communicator(int process) { return *communicators_[process]; }
  WiredWorld& world(int process) { return *worlds_[process]; }
  InProcessHub& hub() { return *hub_; }

  // Starts `op` for one partition. `in` and `out` by array.
  Future Start(const CollectiveOp& op, int partition, int64_t run, const std::vector<Bytes>& in,
               std::vector<Bytes>* out, int64_t instance = 0, std::shared_ptr<const void> keeper = nullptr,
               const CollectiveOrder* order = nullptr) {
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    for (const Bytes& bytes : in) inputs.push_back(bytes.data());
    for (Bytes& bytes : *out) outputs.push_back(bytes.data());
    return communicator(ProcessOf(partition))
        .Start(op, {RunId(run), instance, PartitionId(partition), inputs, outputs,
                    /*idle=*/(partition + run) % 2 == 0, std::move(keeper), order});
  }

 private:
  const std::vector<int> devices_;
  MemoryStore store_;
  std::unique_ptr<InProcessHub> hub_;
  std::vector<std::unique_ptr<WiredWorld>> worlds_;
  std::vector<std::shared_ptr<Communicator>> communicators_;
  std::vector<DeviceId> assignment_;
};

// How many elements a participant has of an array, out of the collective.
inline int64_t OutputElements(const CollectiveOp& op, const CollectiveArray& array, int ranks) {
  return op.kind == CollectiveKind::kAllGather ? array.elements * ranks : array.elements;
}
inline int64_t InputElements(const CollectiveOp& op, const CollectiveArray& array, int ranks) {
  return op.kind == CollectiveKind::kReduceScatter ? array.elements * ranks : array.elements;
}

// Where element `i` of the part of `rank` lies in a row-major [outer, ranks, block].
inline int64_t Locate(const Blocks& blocks, int ranks, int rank, int64_t i) {
  return (i / blocks.block_elements * ranks + rank) * blocks.block_elements + i % blocks.block_elements;
}

}  // namespace shoal

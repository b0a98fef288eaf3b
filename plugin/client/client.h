// PjRtClient: this process's part of the mesh: all devices of all processes, of which it runs its own.
//
// Made once, by joining the job; owns devices, memory spaces and communication, and outlives everything made
// from it. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "collectives/communicator/collective_world.h"
#include "launcher/rendezvous/job.h"
#include "plugin/client/buffer.h"
#include "plugin/client/device.h"
#include "plugin/client/executable.h"
#include "plugin/client/topology_description.h"

namespace shoal {

using PjRtCompiler = std::function<absl::StatusOr<CompiledModule>(const CompileRequest&)>;

struct PjRtClientOptions {
  std::optional<int> num_devices;  // absent: SHOAL_NUM_DEVICES
  std::optional<int> process_id;   // jax.distributed's; absent: the launcher finds out
  std::optional<int> process_count;
  std::string coordinator;  // where process 0 may listen, if neither a store nor a launcher tells
  bool zero_copy_host_buffers = true;  // false: who asks for zero copy gets a copy, and may write at once
  std::unique_ptr<KeyValueStore> store;  // the caller's; null: the launcher finds one
  PjRtCompiler compiler;
};

// How long the caller's memory is read or shown; the words are PJRT's.
enum class HostBufferSemantics {
  kImmutableOnlyDuringCall,
  kImmutableUntilTransferCompletes,
  kImmutableZeroCopy,  // the buffer may show the caller's memory; nobody writes it
  kMutableZeroCopy,    // the same, and donation may write it
};

struct HostBuffer {
  const void* data;
  Shape shape;
  absl::Span<const int64_t> byte_strides;  // empty: dense row-major
  HostBufferSemantics semantics = HostBufferSemantics::kImmutableOnlyDuringCall;
};

class PjRtClient {
 public:
  // Joins the job (which may wait for other processes) and connects. InvalidArgument for bad flags or
  // options.
  static absl::StatusOr<std::unique_ptr<PjRtClient>> Create(PjRtClientOptions options);
  // From parts that exist already. `world` is null in a process that never communicates.
  static std::unique_ptr<PjRtClient> Create(PjRtCompiler compiler, std::unique_ptr<KeyValueStore> store,
                                            std::unique_ptr<Job> job, std::unique_ptr<CollectiveWorld> world,
                                            int64_t device_memory_limit);
  ~PjRtClient();
  // The program is at its end, by the error `why` if that is not empty: lets every client of this process end
  // its runs, and tells the other processes of their jobs that nothing more comes. Clients may live on after
  // that, for as long as arrays do. True if a process has died or not come in time; then waits at most `wait`
  // for the rest to end. Thread-safe.
  static bool LeaveJobs(absl::string_view why, absl::Duration wait);

  absl::string_view platform_name() const { return "cpu"; }
  absl::string_view platform_version() const { return topology_.platform_version; }
  int process_index() const { return process_.value(); }
  const PjRtTopologyDescription& topology() const { return topology_; }
  CollectiveWorld* world() const { return world_.get(); }

  absl::Span<PjRtDevice* const> devices() const { return devices_; }  // by id
  absl::Span<PjRtDevice* const> addressable_devices() const { return addressable_devices_; }
  absl::Span<PjRtMemorySpace* const> memory_spaces() const { return memory_spaces_; }  // addressable ones
  absl::StatusOr<PjRtDevice*> LookupDevice(int id) const;
  absl::StatusOr<PjRtDevice*> LookupAddressableDevice(int local_hardware_id) const;
  // Devices for a program that names none: this process's first, then the rest in order.
  absl::StatusOr<std::vector<DeviceId>> DefaultDeviceAssignment(int num_replicas, int num_partitions) const;

  // `source_options` is kept for who asks for it; `saved_code` is CompileRequest's.
  absl::StatusOr<std::shared_ptr<const PjRtExecutable>> Compile(absl::string_view program,
                                                                absl::string_view format,
                                                                CompileOptions options,
                                                                std::string source_options,
                                                                absl::string_view saved_code = "") const;
  absl::StatusOr<std::unique_ptr<PjRtLoadedExecutable>> Load(
      std::shared_ptr<const PjRtExecutable> executable);

  // `done` is set when the caller's memory is its own again.
  absl::StatusOr<std::unique_ptr<PjRtBuffer>> BufferFromHostBuffer(const HostBuffer& host,
                                                                   PjRtMemorySpace* space, Future* done);
  // Shows `data`, which is `space`'s device's memory, until `on_delete` (may be null) is called.
  absl::StatusOr<std::unique_ptr<PjRtBuffer>> CreateViewOfDeviceBuffer(void* data, const Shape& shape,
                                                                       PjRtMemorySpace* space,
                                                                       std::function<void()> on_delete);
  // Poisons whatever is computed from it. Takes no memory.
  std::unique_ptr<PjRtBuffer> CreateErrorBuffer(absl::Status error, const Shape& shape,
                                                PjRtMemorySpace* space);

  // What is being sent to devices of other processes, which the end of the program waits for.
  RunsInFlight& transfers() { return transfers_; }

  // The next id of a run that no caller numbers, for the executables that share `communicator`. It
  // never meets a launch id, which is any number of 32 bits.
  RunId NextRunId(const Communicator* communicator);

 private:
  PjRtClient(PjRtCompiler compiler, std::unique_ptr<KeyValueStore> store, std::unique_ptr<Job> job,
             std::unique_ptr<CollectiveWorld> world);
  void MakeDevices(int64_t device_memory_limit);
  void AwaitRuns();
  // The processes that have devices of the program.
  CodePeers PeersFor(const CompileOptions& options) const;
  HostBufferSemantics SemanticsFor(const HostBuffer& host) const;

  PjRtCompiler compiler_;
  std::unique_ptr<KeyValueStore> store_;
  std::unique_ptr<Job> job_;
  std::unique_ptr<CollectiveWorld> world_;
  bool zero_copy_host_buffers_ = true;
  ProcessId process_;
  PjRtTopologyDescription topology_;
  std::vector<std::unique_ptr<PjRtDevice>> owned_devices_;
  std::vector<PjRtDevice*> devices_;
  std::vector<PjRtDevice*> addressable_devices_;
  std::vector<PjRtMemorySpace*> memory_spaces_;
  RunsInFlight transfers_;
  std::mutex run_mutex_;
  absl::flat_hash_map<const Communicator*, int64_t> runs_;  // guarded by run_mutex_
};

// Bytes of memory that this process's machine or cgroup has.
int64_t MachineMemoryBytes();

}  // namespace shoal

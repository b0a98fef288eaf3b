// PjRtExecutable: a compiled program as a value. PjRtLoadedExecutable: the same, bound to the devices that
// run it.
//
// Both are immutable after creation, but for Delete, and thread-safe. A run keeps what it needs of them
// alive.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/runtime/program.h"
#include "core/tasks/future.h"
#include "plugin/client/buffer.h"
#include "plugin/client/host_transfer.h"
#include "plugin/compile/compiler.h"

namespace shoal {

class PjRtClient;

struct PjRtExecutable {
  CompiledModule compiled;
  CompileOptions options;
  // What Serialize writes beside the native code: the program and options that were compiled, to be compiled
  // again by who loads it.
  std::string source;
  std::string source_format;
  std::string source_options;  // as the caller gave them, for the caller
};

struct ExecuteOptions {
  // The same on all processes for one run of a program over several; 0: counted here.
  int64_t launch_id = 0;
  // Parameters that must stay as they are, even if the program takes their memory.
  absl::Span<const int64_t> non_donatable_input_indices;
  std::shared_ptr<const UserData> user_data;  // for custom calls; null: none
  // One a device that the call runs on; empty for programs without host transfers.
  std::vector<HostCallbacks> host_callbacks;
};

// What one device's run gives at once.
struct DeviceResults {
  absl::InlinedVector<std::unique_ptr<PjRtBuffer>, 4> outputs;
  Future done;
};

class PjRtLoadedExecutable {
 public:
  // The position of one local device in the program.
  struct LogicalId {
    int replica;
    int partition;
  };

  // InvalidArgument if the assignment names unknown devices, one twice, or not as many as the program has
  // partitions.
  static absl::StatusOr<std::unique_ptr<PjRtLoadedExecutable>> Create(
      PjRtClient* client, std::shared_ptr<const PjRtExecutable> executable);

  PjRtClient* client() const { return client_; }
  const std::shared_ptr<const PjRtExecutable>& executable() const { return executable_; }
  // The devices of this process that run the program, in the order of their partitions. A portable executable
  // names the client's first device.
  absl::Span<PjRtDevice* const> addressable_devices() const { return devices_; }
  absl::Span<const LogicalId> addressable_device_logical_ids() const { return logical_ids_; }
  // Empty for a portable executable.
  absl::Span<const DeviceId> device_assignment() const { return executable_->options.device_assignment; }

  // Runs on every addressable device; `arguments` has a list for each. Returns as soon as all runs are under
  // way. InvalidArgument, with nothing started, if the arguments do not fit: their number, shapes, types or
  // devices, or a buffer that is deleted, or if a channel to the host has no callback. Failures of the
  // computation come with the outputs' definitions.
  absl::StatusOr<std::vector<DeviceResults>> Execute(
      absl::Span<const absl::Span<PjRtBuffer* const>> arguments, const ExecuteOptions& options);
  // Runs on one of them, or for a portable executable on any device of the client. The caller sees to it that
  // the other participants run too.
  absl::StatusOr<DeviceResults> ExecuteOn(PjRtDevice* device, absl::Span<PjRtBuffer* const> arguments,
                                          const ExecuteOptions& options);

  void Delete();
  bool IsDeleted() const { return deleted_.load(std::memory_order_acquire); }

 private:
  struct Run;
  struct Kept;

  PjRtLoadedExecutable(PjRtClient* client, std::shared_ptr<const PjRtExecutable> executable)
      : client_(client), executable_(std::move(executable)) {}
  absl::Status Bind();
  absl::Status CheckArguments(absl::Span<PjRtBuffer* const> arguments, const PjRtDevice* device) const;
  absl::Status ConnectToHost(const ExecuteOptions& options, absl::Span<Run> runs) const;
  absl::Status Prepare(PjRtDevice* device, PartitionId partition, RunId run_id,
                       absl::Span<PjRtBuffer* const> arguments, Run& run) const;
  absl::Status Donate(PjRtDevice* device, absl::Span<PjRtBuffer* const> arguments,
                      const ExecuteOptions& options, Run& run) const;
  absl::Status DonateOne(PjRtDevice* device, size_t result, int parameter, PjRtBuffer* argument,
                         bool may_take, Run& run) const;
  DeviceResults Launch(PjRtDevice* device, Run&& run) const;
  Future BeginInOrder(PjRtDevice* device, Run&& run) const;
  // The error of a callback that was called before Launch returned.
  absl::Status FailedCallback(const DeviceResults& results) const;
  Future Begin(PjRtDevice* device, Run&& run) const;
  std::unique_lock<std::mutex> OrderAmongDevices() const;
  RunId NextRunId(const ExecuteOptions& options);

  PjRtClient* const client_;
  const std::shared_ptr<const PjRtExecutable> executable_;
  std::shared_ptr<Communicator> communicator_;  // null if the program has no collectives
  std::vector<PjRtDevice*> devices_;
  std::vector<LogicalId> logical_ids_;
  std::vector<std::string> result_labels_;  // for out-of-memory reports
  std::vector<int> result_kinds_;           // index of the memory space that each result goes to
  std::atomic<bool> deleted_{false};
};

}  // namespace shoal

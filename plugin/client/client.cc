#include "plugin/client/client.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status.h"
#include "core/base/timeline.h"
#include "core/tasks/arena.h"
#include "plugin/client/strided_copy.h"

namespace shoal {
namespace {

// PJRT's launch ids are any numbers of 32 bits; ours lie beyond them, and below those of device_transfer.cc.
constexpr int64_t kFirstOwnRun = int64_t{1} << 40;

// All that live, for LeaveJobs.
struct Clients {
  std::mutex mutex;
  std::set<PjRtClient*> all;  // guarded by mutex
  static Clients& Get() {
    static Clients* const clients = new Clients;
    return *clients;
  }
};

bool IsZeroCopy(HostBufferSemantics semantics) {
  return semantics == HostBufferSemantics::kImmutableZeroCopy ||
         semantics == HostBufferSemantics::kMutableZeroCopy;
}

bool IsAligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % Allocator::kAlignment == 0; }

absl::Status CheckSpace(const PjRtClient* client, const PjRtMemorySpace* space) {
  if (space->device()->client() == client) return absl::OkStatus();
  return absl::InvalidArgumentError("the memory space belongs to another client");
}

}  // namespace

std::unique_ptr<PjRtClient> PjRtClient::Create(PjRtCompiler compiler, std::unique_ptr<KeyValueStore> store,
                                               std::unique_ptr<Job> job,
                                               std::unique_ptr<CollectiveWorld> world,
                                               int64_t device_memory_limit) {
  std::unique_ptr<PjRtClient> client(
      new PjRtClient(std::move(compiler), std::move(store), std::move(job), std::move(world)));
  client->MakeDevices(device_memory_limit);
  return client;
}

PjRtClient::PjRtClient(PjRtCompiler compiler, std::unique_ptr<KeyValueStore> store, std::unique_ptr<Job> job,
                       std::unique_ptr<CollectiveWorld> world)
    : compiler_(std::move(compiler)),
      store_(std::move(store)),
      job_(std::move(job)),
      world_(std::move(world)),
      process_(job_->topology().self),
      topology_(PjRtTopologyDescription::Of(job_->topology())) {
  Clients& clients = Clients::Get();
  std::lock_guard<std::mutex> lock(clients.mutex);
  clients.all.insert(this);
}

void PjRtClient::AwaitRuns() {
  for (PjRtDevice* device : addressable_devices_) device->runs().AwaitAtMost(0);
  transfers_.AwaitAtMost(0);
}

bool PjRtClient::LeaveJobs(absl::string_view why, absl::Duration wait) {
  Clients& clients = Clients::Get();
  std::lock_guard<std::mutex> lock(clients.mutex);
  bool broken = false;
  for (PjRtClient* client : clients.all) {
    client->AwaitRuns();
    if (client->world_ != nullptr && client->world_->Leave(why, wait)) broken = true;
  }
  return broken;
}

PjRtClient::~PjRtClient() {
  {
    Clients& clients = Clients::Get();
    std::lock_guard<std::mutex> lock(clients.mutex);
    clients.all.erase(this);
  }
  AwaitRuns();
  Timeline::WriteIfOn();
  // The health thread calls into the world, and the world uses the job's store.
  job_->WatchHealth(nullptr);
  world_.reset();
  job_.reset();
}

void PjRtClient::MakeDevices(int64_t device_memory_limit) {
  for (const PjRtDeviceDescription& description : topology_.devices) {
    int ordinal = description.process == process_ ? static_cast<int>(addressable_devices_.size()) : -1;
    owned_devices_.push_back(std::make_unique<PjRtDevice>(this, description, ordinal, device_memory_limit));
    PjRtDevice* device = owned_devices_.back().get();
    devices_.push_back(device);
    if (!device->IsAddressable()) continue;
    addressable_devices_.push_back(device);
    memory_spaces_.insert(memory_spaces_.end(), device->memory_spaces().begin(),
                          device->memory_spaces().end());
  }
}

absl::StatusOr<PjRtDevice*> PjRtClient::LookupDevice(int id) const {
  if (id >= 0 && id < static_cast<int>(devices_.size())) return devices_[id];
  return absl::InvalidArgumentError(
      absl::StrCat("there is no device ", id, "; this job has devices 0 to ", devices_.size() - 1));
}

absl::StatusOr<PjRtDevice*> PjRtClient::LookupAddressableDevice(int local_hardware_id) const {
  if (local_hardware_id >= 0 && local_hardware_id < static_cast<int>(addressable_devices_.size())) {
    return addressable_devices_[local_hardware_id];
  }
  return absl::InvalidArgumentError(absl::StrCat("there is no local device ", local_hardware_id,
                                                 "; this process has local devices 0 to ",
                                                 addressable_devices_.size() - 1));
}

absl::StatusOr<std::vector<DeviceId>> PjRtClient::DefaultDeviceAssignment(int num_replicas,
                                                                          int num_partitions) const {
  int64_t count = static_cast<int64_t>(num_replicas) * num_partitions;
  if (num_replicas < 1 || num_partitions < 1 || count > static_cast<int64_t>(devices_.size())) {
    return absl::InvalidArgumentError(absl::StrCat(num_replicas, " replicas x ", num_partitions,
                                                   " partitions want ", count, " devices, this job has ",
                                                   devices_.size()));
  }
  std::vector<DeviceId> assignment;
  for (bool addressable : {true, false}) {
    for (PjRtDevice* device : devices_) {
      if (device->IsAddressable() == addressable && static_cast<int64_t>(assignment.size()) < count) {
        assignment.push_back(device->id());
      }
    }
  }
  // A program that needs other processes too must mean the same devices in all of them.
  if (count > static_cast<int64_t>(addressable_devices_.size()))
    std::sort(assignment.begin(), assignment.end());
  return assignment;
}

CodePeers PjRtClient::PeersFor(const CompileOptions& options) const {
  std::set<ProcessId> processes;
  for (DeviceId id : options.device_assignment) processes.insert(job_->topology().ProcessOf(id));
  const auto self = processes.find(process_);
  if (self == processes.end()) return {};
  return {job_->store(), static_cast<int>(std::distance(processes.begin(), self)),
          static_cast<int>(processes.size())};
}

absl::StatusOr<std::shared_ptr<const PjRtExecutable>> PjRtClient::Compile(
    absl::string_view program, absl::string_view format, CompileOptions options, std::string source_options,
    absl::string_view saved_code) const {
  for (DeviceId id : options.device_assignment) SHOAL_RETURN_IF_ERROR(LookupDevice(id.value()).status());
  auto executable = std::make_shared<PjRtExecutable>();
  CompileRequest request{
      .program = program, .format = std::string(format), .options = options, .saved_code = saved_code};
  request.peers = PeersFor(options);
  const int64_t start = Timeline::Now();
  SHOAL_ASSIGN_OR_RETURN(executable->compiled, compiler_(request));
  if (Timeline* const timeline = Timeline::Get()) {
    const int device = addressable_devices_[0]->id().value();
    timeline->Add({TimelineRow::kCompilation, device, start, Timeline::Now()}, executable->compiled.name);
  }
  executable->options = std::move(options);
  executable->source = std::string(program);
  executable->source_format = std::string(format);
  executable->source_options = std::move(source_options);
  return executable;
}

absl::StatusOr<std::unique_ptr<PjRtLoadedExecutable>> PjRtClient::Load(
    std::shared_ptr<const PjRtExecutable> executable) {
  return PjRtLoadedExecutable::Create(this, std::move(executable));
}

HostBufferSemantics PjRtClient::SemanticsFor(const HostBuffer& host) const {
  return IsZeroCopy(host.semantics) && !zero_copy_host_buffers_
             ? HostBufferSemantics::kImmutableOnlyDuringCall
             : host.semantics;
}

absl::StatusOr<std::unique_ptr<PjRtBuffer>> PjRtClient::BufferFromHostBuffer(const HostBuffer& host,
                                                                             PjRtMemorySpace* space,
                                                                             Future* done) {
  SHOAL_RETURN_IF_ERROR(CheckSpace(this, space));
  const int64_t bytes = host.shape.ByteSize();
  if (host.data == nullptr && bytes > 0) {
    return absl::InvalidArgumentError(absl::StrCat("no data for a buffer of ", host.shape.ToString()));
  }
  if (!host.byte_strides.empty() && static_cast<int64_t>(host.byte_strides.size()) != host.shape.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat(host.byte_strides.size(), " strides for ", host.shape.ToString()));
  }
  const bool dense = host.byte_strides.empty() || IsDenseRowMajor(host.shape, host.byte_strides);
  const HostBufferSemantics semantics = SemanticsFor(host);
  if (IsZeroCopy(semantics) && dense && bytes > 0 && IsAligned(host.data)) {
    auto released = std::make_shared<Promise>();
    *done = released->future();
    auto memory = DeviceMemory::View(const_cast<void*>(host.data), bytes,
                                     semantics == HostBufferSemantics::kMutableZeroCopy,
                                     [released] { released->Set(absl::OkStatus()); });
    return std::make_unique<PjRtBuffer>(host.shape, space, std::move(memory), Future());
  }
  SHOAL_ASSIGN_OR_RETURN(auto memory,
                         DeviceMemory::Allocate(space->device()->allocator(), bytes,
                                                absl::StrCat("host array ", host.shape.ToString())));
  DimVector strides =
      dense ? RowMajorByteStrides(host.shape) : DimVector(host.byte_strides.begin(), host.byte_strides.end());
  auto copy = [memory, shape = host.shape, source = static_cast<const char*>(host.data),
               strides = std::move(strides)] { CopyToDevice(shape, source, strides, memory->data()); };
  *done = Future();
  if (semantics == HostBufferSemantics::kImmutableOnlyDuringCall || bytes <= kInlineCopyBytes) {
    copy();
  } else {
    auto promise = std::make_shared<Promise>();
    *done = promise->future();
    Arena::Get().Submit([promise, copy = std::move(copy)] {
      copy();
      promise->Set(absl::OkStatus());
    });
  }
  return std::make_unique<PjRtBuffer>(host.shape, space, std::move(memory), *done);
}

absl::StatusOr<std::unique_ptr<PjRtBuffer>> PjRtClient::CreateViewOfDeviceBuffer(
    void* data, const Shape& shape, PjRtMemorySpace* space, std::function<void()> on_delete) {
  SHOAL_RETURN_IF_ERROR(CheckSpace(this, space));
  if (!IsAligned(data)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a view of ", shape.ToString(), ": the memory at 0x", absl::Hex(reinterpret_cast<uintptr_t>(data)),
        " is not aligned to ", Allocator::kAlignment, " bytes."));  // JAX looks for "is not aligned to N"
  }
  auto memory = DeviceMemory::View(data, shape.ByteSize(), /*writable=*/true, std::move(on_delete));
  return std::make_unique<PjRtBuffer>(shape, space, std::move(memory), Future());
}

std::unique_ptr<PjRtBuffer> PjRtClient::CreateErrorBuffer(absl::Status error, const Shape& shape,
                                                          PjRtMemorySpace* space) {
  auto memory = DeviceMemory::View(nullptr, 0, /*writable=*/false, nullptr);
  return std::make_unique<PjRtBuffer>(shape, space, std::move(memory), Future(std::move(error)));
}

RunId PjRtClient::NextRunId(const Communicator* communicator) {
  std::lock_guard<std::mutex> lock(run_mutex_);
  return RunId(kFirstOwnRun + runs_[communicator]++);
}

}  // namespace shoal

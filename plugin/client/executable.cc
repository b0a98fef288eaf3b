#include "plugin/client/executable.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status.h"
#include "core/tasks/arena.h"
#include "core/tasks/waiting_threads.h"
#include "plugin/client/client.h"
#include "plugin/client/strided_copy.h"

namespace shoal {
namespace {

int KindIdOf(absl::string_view kind) {
  for (int id = 0; id < kNumMemoryKinds; ++id) {
    if (kMemoryKinds[id] == kind) return id;
  }
  return 0;
}

// " in layout {0,1}", for messages; nothing where arrays are row-major.
std::string InLayout(const std::vector<int64_t>& minor_to_major) {
  return minor_to_major.empty() ? "" : absl::StrCat(" in layout {", absl::StrJoin(minor_to_major, ","), "}");
}

// A callback's program must not wait for the programs that wait for the callback.
void AwaitRoom(PjRtDevice* device) {
  if (!WaitingWork::IsUnderWay()) device->runs().AwaitAtMost(RunsInFlight::kMost - 1);
}

}  // namespace

// All that one device's run needs, kept until it has ended.
struct PjRtLoadedExecutable::Run {
  RunContext context;
  absl::InlinedVector<std::shared_ptr<DeviceMemory>, 8> parameters;
  absl::InlinedVector<std::shared_ptr<DeviceMemory>, 4> results;
  absl::InlinedVector<PjRtBuffer*, 8> used;       // arguments with an open use; valid until Launch returns
  absl::InlinedVector<Future, 4> waits;           // definitions that are not there yet, or failed
  absl::InlinedVector<PjRtBuffer*, 1> to_delete;  // donated arguments that were copied
  // Of those, source and target of the copy that comes before the program.
  std::vector<std::pair<std::shared_ptr<DeviceMemory>, std::shared_ptr<DeviceMemory>>> copies;
  std::shared_ptr<const PjRtExecutable> executable;
  std::shared_ptr<Communicator> communicator;
  std::shared_ptr<HostTransfers> host_transfers;
  PjRtDevice* device = nullptr;
  bool is_kept = false;  // by a Kept, which is in flight then
  std::optional<RunInFlight> in_flight;

  void BeInFlight() {
    if (!is_kept) in_flight.emplace(&device->runs());
  }
  void Add(const Future& definition) {
    if (!definition.IsReady() || !definition.status().ok()) waits.push_back(definition);
  }
  void EndUses(const Future& end) {
    for (PjRtBuffer* buffer : used) buffer->EndUse(end);
    used.clear();
  }
  Future Start() {
    for (const auto& [source, target] : copies) CopyBytes(source->data(), target->data(), target->bytes());
    return executable->compiled.program->Start(std::move(context));
  }
  // A participant that ends with an error would leave the others waiting for it.
  void TellPeers(const absl::Status& status, RunId id) const {
    if (status.ok()) return;
    if (communicator != nullptr) communicator->Abort(id, status);
    if (host_transfers != nullptr) host_transfers->Abort(status);
  }
};

// What other participants may read on after a run's end, and the run is in flight till they have.
struct PjRtLoadedExecutable::Kept {
  explicit Kept(const Run& run)
      : in_flight(&run.device->runs()), parameters(run.parameters), results(run.results) {}
  ~Kept() {
    parameters.clear();
    results.clear();
    read.Set(absl::OkStatus());
  }
  const RunInFlight in_flight;  // the last to go
  absl::InlinedVector<std::shared_ptr<DeviceMemory>, 8> parameters;
  absl::InlinedVector<std::shared_ptr<DeviceMemory>, 4> results;
  Promise read;
};

absl::StatusOr<std::unique_ptr<PjRtLoadedExecutable>> PjRtLoadedExecutable::Create(
    PjRtClient* client, std::shared_ptr<const PjRtExecutable> executable) {
  std::unique_ptr<PjRtLoadedExecutable> loaded(new PjRtLoadedExecutable(client, std::move(executable)));
  SHOAL_RETURN_IF_ERROR(loaded->Bind());
  return loaded;
}

absl::Status PjRtLoadedExecutable::Bind() {
  const CompileOptions& options = executable_->options;
  const Program& program = *executable_->compiled.program;
  const std::string& name = executable_->compiled.name;
  const size_t participants = static_cast<size_t>(options.num_replicas) * options.num_partitions;
  if (!options.device_assignment.empty() && options.device_assignment.size() != participants) {
    return absl::InvalidArgumentError(absl::StrCat("loading ", name, ": ", options.device_assignment.size(),
                                                   " devices are assigned to ", options.num_replicas,
                                                   " replicas x ", options.num_partitions, " partitions"));
  }
  absl::flat_hash_set<DeviceId> seen;
  for (size_t i = 0; i < options.device_assignment.size(); ++i) {
    DeviceId id = options.device_assignment[i];
    SHOAL_ASSIGN_OR_RETURN(PjRtDevice * device, client_->LookupDevice(id.value()));
    if (!seen.insert(id).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("loading ", name, ": device ", id.value(), " is assigned twice"));
    }
    if (!device->IsAddressable()) continue;
    devices_.push_back(device);
    logical_ids_.push_back(
        {static_cast<int>(i) / options.num_partitions, static_cast<int>(i) % options.num_partitions});
  }
  if (options.device_assignment.empty()) {
    devices_.push_back(client_->addressable_devices()[0]);
    logical_ids_.push_back({0, 0});
  }
  if (program.has_collectives()) {
    std::vector<DeviceId> assignment = options.device_assignment;
    if (assignment.empty()) assignment.push_back(devices_[0]->id());
    if (client_->world() == nullptr) {
      return absl::FailedPreconditionError(
          absl::StrCat("loading ", name, ": it communicates, and this client has no way to"));
    }
    SHOAL_ASSIGN_OR_RETURN(communicator_, client_->world()->GetCommunicator(assignment));
  }
  for (size_t r = 0; r < program.result_shapes().size(); ++r) {
    result_labels_.push_back(absl::StrCat(name, " result ", r, " ", program.result_shapes()[r].ToString()));
    result_kinds_.push_back(r < executable_->compiled.results.size()
                                ? KindIdOf(executable_->compiled.results[r].memory_kind)
                                : 0);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<DeviceResults>> PjRtLoadedExecutable::Execute(
    absl::Span<const absl::Span<PjRtBuffer* const>> arguments, const ExecuteOptions& options) {
  if (arguments.size() != devices_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("executing ", executable_->compiled.name, ": arguments for ", arguments.size(),
                     " devices, it runs on ", devices_.size(), " of this process"));
  }
  absl::InlinedVector<Run, 1> runs(devices_.size());
  SHOAL_RETURN_IF_ERROR(ConnectToHost(options, absl::MakeSpan(runs)));
  const RunId run_id = NextRunId(options);
  absl::Status status;
  for (size_t d = 0; d < devices_.size() && status.ok(); ++d) {
    AwaitRoom(devices_[d]);
    PartitionId partition(logical_ids_[d].replica * executable_->options.num_partitions +
                          logical_ids_[d].partition);
    status = Prepare(devices_[d], partition, run_id, arguments[d], runs[d]);
    runs[d].context.user_data = options.user_data;
  }
  for (size_t d = 0; d < devices_.size() && status.ok(); ++d) {
    status = Donate(devices_[d], arguments[d], options, runs[d]);
  }
  if (!status.ok()) {
    for (Run& run : runs) run.EndUses(Future());
    if (communicator_ != nullptr) communicator_->Abort(run_id, status);
    return status;
  }
  std::vector<DeviceResults> results;
  results.reserve(devices_.size());
  const auto order = OrderAmongDevices();
  for (size_t d = 0; d < devices_.size(); ++d) results.push_back(Launch(devices_[d], std::move(runs[d])));
  if (devices_.size() == 1) SHOAL_RETURN_IF_ERROR(FailedCallback(results[0]));
  return results;
}

absl::StatusOr<DeviceResults> PjRtLoadedExecutable::ExecuteOn(PjRtDevice* device,
                                                              absl::Span<PjRtBuffer* const> arguments,
                                                              const ExecuteOptions& options) {
  PartitionId partition(0);
  if (!device_assignment().empty()) {
    auto it = std::find(devices_.begin(), devices_.end(), device);
    if (it == devices_.end()) {
      return absl::InvalidArgumentError(absl::StrCat("executing ", executable_->compiled.name, " on ",
                                                     device->description().debug_string,
                                                     ", which is not among its devices of this process"));
    }
    const LogicalId& id = logical_ids_[it - devices_.begin()];
    partition = PartitionId(id.replica * executable_->options.num_partitions + id.partition);
  }
  // A participant of several must not wait here: those it would wait for may be started only after it.
  if (device_assignment().size() <= 1) AwaitRoom(device);
  Run run;
  SHOAL_RETURN_IF_ERROR(ConnectToHost(options, absl::MakeSpan(&run, 1)));
  absl::Status status = Prepare(device, partition, NextRunId(options), arguments, run);
  run.context.user_data = options.user_data;
  if (status.ok()) status = Donate(device, arguments, options, run);
  if (!status.ok()) {
    run.EndUses(Future());
    return status;
  }
  DeviceResults results = Launch(device, std::move(run));
  SHOAL_RETURN_IF_ERROR(FailedCallback(results));
  return results;
}

absl::Status PjRtLoadedExecutable::ConnectToHost(const ExecuteOptions& options, absl::Span<Run> runs) const {
  absl::Span<const HostChannel> channels = executable_->compiled.program->host_channels();
  if (channels.empty()) return absl::OkStatus();
  SHOAL_ASSIGN_OR_RETURN(auto transfers, StartHostTransfers(executable_->compiled.name, channels,
                                                            options.host_callbacks, runs.size()));
  for (size_t d = 0; d < runs.size(); ++d)
    runs[d].context.host_transfers = runs[d].host_transfers = std::move(transfers[d]);
  return absl::OkStatus();
}

absl::Status PjRtLoadedExecutable::FailedCallback(const DeviceResults& results) const {
  const bool is_over = executable_->compiled.program->calls_out() && results.done.IsReady();
  return is_over ? results.done.status() : absl::OkStatus();
}

void PjRtLoadedExecutable::Delete() { deleted_.store(true, std::memory_order_release); }

RunId PjRtLoadedExecutable::NextRunId(const ExecuteOptions& options) {
  if (communicator_ == nullptr) return RunId(options.launch_id);
  const RunId run =
      options.launch_id != 0 ? RunId(options.launch_id) : client_->NextRunId(communicator_.get());
  communicator_->Expect(run);
  return run;
}

absl::Status PjRtLoadedExecutable::CheckArguments(absl::Span<PjRtBuffer* const> arguments,
                                                  const PjRtDevice* device) const {
  const std::string& name = executable_->compiled.name;
  absl::Span<const Shape> shapes = executable_->compiled.program->parameter_shapes();
  const std::vector<CompiledArray>& parameters = executable_->compiled.parameters;
  if (IsDeleted())
    return absl::FailedPreconditionError(absl::StrCat("executing ", name, ", which was deleted"));
  if (arguments.size() != shapes.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("executing ", name, " with ", arguments.size(), " arguments, it takes ", shapes.size()));
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    static const std::vector<int64_t> kRowMajor;
    const CompiledArray* wanted = i < parameters.size() ? &parameters[i] : nullptr;
    const std::vector<int64_t>& layout = wanted == nullptr ? kRowMajor : wanted->minor_to_major;
    const Shape& shape = layout.empty() ? shapes[i] : wanted->local;
    // JAX passes an empty array where a program takes a token, which has no contents either.
    const bool fits = (arguments[i]->shape() == shape && arguments[i]->minor_to_major() == layout) ||
                      (shape.IsToken() && arguments[i]->shape().ByteSize() == 0);
    if (arguments[i]->device() == device && fits) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("executing ", name, ": argument ", i, " is ", arguments[i]->shape().ToString(),
                     InLayout(arguments[i]->minor_to_major()), " on ",
                     arguments[i]->device()->description().debug_string, ", the program takes ",
                     shape.ToString(), InLayout(layout), " on ", device->description().debug_string));
  }
  return absl::OkStatus();
}

// Checks, takes a use of every argument that stays, and allocates every result that takes no argument's
// memory.
absl::Status PjRtLoadedExecutable::Prepare(PjRtDevice* device, PartitionId partition, RunId run_id,
                                           absl::Span<PjRtBuffer* const> arguments, Run& run) const {
  SHOAL_RETURN_IF_ERROR(CheckArguments(arguments, device));
  const Program& program = *executable_->compiled.program;
  run.executable = executable_;
  run.communicator = communicator_;
  run.device = device;
  run.context.run = run_id;
  run.context.partition = partition;
  run.context.device = device->id();
  run.context.local_ordinal = device->local_hardware_id();
  run.context.allocator = device->allocator().get();
  run.context.communicator = communicator_.get();
  run.context.parameters.resize(arguments.size());
  run.parameters.resize(arguments.size());
  absl::Span<const int> donors = program.result_donors();
  absl::InlinedVector<bool, 8> donated(arguments.size(), false);
  for (int parameter : donors) {
    if (parameter >= 0) donated[parameter] = true;
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (donated[i]) continue;
    SHOAL_ASSIGN_OR_RETURN(PjRtBuffer::Use use, arguments[i]->AcquireUse(executable_->compiled.name));
    run.used.push_back(arguments[i]);
    run.Add(use.definition);
    run.context.parameters[i] = use.memory->data();
    run.parameters[i] = std::move(use.memory);
  }
  absl::Span<const Shape> shapes = program.result_shapes();
  run.context.results.resize(shapes.size());
  run.results.resize(shapes.size());
  for (size_t r = 0; r < shapes.size(); ++r) {
    if (donors[r] >= 0) continue;
    SHOAL_ASSIGN_OR_RETURN(
        run.results[r], DeviceMemory::Allocate(device->allocator(), shapes[r].ByteSize(), result_labels_[r]));
    run.context.results[r] = run.results[r]->data();
  }
  return absl::OkStatus();
}

// Moves the memory of donated arguments to the results that take it, or a copy where it cannot be moved.
absl::Status PjRtLoadedExecutable::Donate(PjRtDevice* device, absl::Span<PjRtBuffer* const> arguments,
                                          const ExecuteOptions& options, Run& run) const {
  const Program& program = *executable_->compiled.program;
  absl::Span<const int> donors = program.result_donors();
  absl::Span<const int> released = program.released_parameters();
  if (released.empty() &&
      std::none_of(donors.begin(), donors.end(), [](int parameter) { return parameter >= 0; })) {
    return absl::OkStatus();
  }
  absl::flat_hash_set<int64_t> kept(options.non_donatable_input_indices.begin(),
                                    options.non_donatable_input_indices.end());
  absl::flat_hash_map<PjRtBuffer*, int> occurrences;
  for (PjRtBuffer* argument : arguments) ++occurrences[argument];
  for (int parameter : donors) {
    if (parameter < 0 || kept.contains(parameter) || occurrences[arguments[parameter]] == 1) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "executing ", executable_->compiled.name, ": the buffer ", arguments[parameter]->shape().ToString(),
        " of argument ", parameter, " is donated, and it is another argument of the same call too"));
  }
  for (int parameter : released) {
    PjRtBuffer* argument = arguments[parameter];
    if (!kept.contains(parameter) && occurrences[argument] == 1) run.to_delete.push_back(argument);
  }
  for (size_t r = 0; r < donors.size(); ++r) {
    if (donors[r] < 0) continue;
    SHOAL_RETURN_IF_ERROR(
        DonateOne(device, r, donors[r], arguments[donors[r]], !kept.contains(donors[r]), run));
  }
  return absl::OkStatus();
}

absl::Status PjRtLoadedExecutable::DonateOne(PjRtDevice* device, size_t result, int parameter,
                                             PjRtBuffer* argument, bool may_take, Run& run) const {
  PjRtBuffer::Use use;
  if (may_take) {
    SHOAL_ASSIGN_OR_RETURN(use, argument->TryDonate());
  }
  if (use.memory != nullptr) {
    run.Add(use.definition);
    run.results[result] = use.memory;
  } else {
    SHOAL_ASSIGN_OR_RETURN(
        run.results[result],
        DeviceMemory::Allocate(device->allocator(), argument->shape().ByteSize(), result_labels_[result]));
    SHOAL_ASSIGN_OR_RETURN(use, argument->AcquireUse(executable_->compiled.name));
    run.used.push_back(argument);
    run.Add(use.definition);
    run.copies.emplace_back(use.memory, run.results[result]);
    if (may_take) run.to_delete.push_back(argument);
  }
  run.parameters[parameter] = run.results[result];
  run.context.parameters[parameter] = run.context.results[result] = run.results[result]->data();
  return absl::OkStatus();
}

DeviceResults PjRtLoadedExecutable::Launch(PjRtDevice* device, Run&& run) const {
  DeviceResults results;
  auto used = std::exchange(run.used, {});
  auto to_delete = std::exchange(run.to_delete, {});
  auto memories = run.results;
  Future read;
  if (executable_->compiled.program->lets_others_read_on()) {
    const auto kept = std::make_shared<Kept>(run);
    read = kept->read.future();
    run.context.keeper = kept;
    run.is_kept = true;
  }
  results.done = BeginInOrder(device, std::move(run));
  for (PjRtBuffer* buffer : used) buffer->EndUse(read.IsReady() ? results.done : read);
  for (PjRtBuffer* buffer : to_delete) buffer->Delete();
  absl::Span<const Shape> shapes = executable_->compiled.program->result_shapes();
  const std::vector<CompiledArray>& arrays = executable_->compiled.results;
  for (size_t r = 0; r < shapes.size(); ++r) {
    const bool laid_out = r < arrays.size() && !arrays[r].minor_to_major.empty();
    results.outputs.push_back(std::make_unique<PjRtBuffer>(
        laid_out ? arrays[r].local : shapes[r], device->memory_spaces()[result_kinds_[r]],
        std::move(memories[r]), results.done, laid_out ? arrays[r].minor_to_major : std::vector<int64_t>()));
    if (!read.IsReady()) results.outputs.back()->AddReader(read);
  }
  return results;
}

// Programs with effects are enqueued for all their devices before another is, or two of them could wait for
// each other's collectives.
std::unique_lock<std::mutex> PjRtLoadedExecutable::OrderAmongDevices() const {
  static std::mutex mutex;
  // One device needs no order among devices, and its callbacks may run programs before Execute returns.
  const bool has_order = executable_->compiled.program->has_effects() && device_assignment().size() > 1;
  return has_order ? std::unique_lock<std::mutex>(mutex) : std::unique_lock<std::mutex>();
}

Future PjRtLoadedExecutable::BeginInOrder(PjRtDevice* device, Run&& run) const {
  // What a callback runs would wait for the program that waits for the callback.
  if (!executable_->compiled.program->has_effects() || WaitingWork::IsUnderWay()) {
    return Begin(device, std::move(run));
  }
  auto end = std::make_shared<Promise>();
  run.Add(device->effects().Enqueue(end->future()));
  Future done = Begin(device, std::move(run));
  done.Then([end](const absl::Status&) { end->Set(absl::OkStatus()); });
  return done;
}

// Starts the run, or sees to it that it starts when its inputs are there. The future is ready if it ended at
// once.
Future PjRtLoadedExecutable::Begin(PjRtDevice* device, Run&& run) const {
  const RunId id = run.context.run;
  if (run.waits.empty()) {
    // A program of one device calls its callbacks here, as jaxlib's do: nothing is as quick, and an exception
    // in one is the call's own. Those of several devices may wait for each other.
    const WaitHere offer(device_assignment().size() <= 1);
    Future done = run.Start();
    if (done.IsReady()) {
      run.TellPeers(done.status(), id);
      return done.status().ok() ? Future() : done;
    }
    run.BeInFlight();
    done.Then([run = std::make_shared<Run>(std::move(run)), id](const absl::Status& status) {
      run->TellPeers(status, id);
    });
    return done;
  }
  run.BeInFlight();
  auto promise = std::make_shared<Promise>();
  Future done = promise->future();
  auto finish = [promise, id](const Run& run, const absl::Status& status) {
    run.TellPeers(status, id);
    promise->Set(status);
  };
  Future inputs = Join(run.waits);
  inputs.Then([run = std::make_shared<Run>(std::move(run)), finish](const absl::Status& status) {
    if (!status.ok()) return finish(*run, status);
    // Through the arena even if the program is small: a chain of them would otherwise nest without end.
    Arena::Get().Submit([run, finish] {
      run->Start().Then([run, finish](const absl::Status& status) { finish(*run, status); });
    });
  });
  return done;
}

}  // namespace shoal

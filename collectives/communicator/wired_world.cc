#include "collectives/communicator/wired_world.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "collectives/algorithms/select.h"
#include "collectives/transport/mpi.h"
#include "core/base/status.h"

namespace shoal {
namespace {

// How often the devices of the only process are looked at.
constexpr std::chrono::seconds kWatches(1);
// How often an ending process looks for those that it waits for.
constexpr absl::Duration kLook = absl::Milliseconds(20);
// How long an ending process that will wait for all others' end listens whether they miss it.
constexpr absl::Duration kMissedBy = absl::Seconds(1);
// Longer than a death takes to be noticed.
constexpr absl::Duration kNoticed = absl::Seconds(2);
// How long one of another host may take to end after its goodbye.
constexpr absl::Duration kEndsElsewhere = absl::Milliseconds(500);

template <typename Condition>
void WaitWhile(const Condition& condition, absl::Time limit) {
  while (condition() && absl::Now() < limit) absl::SleepFor(kLook);
}

void AwaitEnd(int pid, absl::Time limit) {
  const int file = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (file < 0) return;
  pollfd ended{file, POLLIN, 0};
  const absl::Duration left = std::max(limit - absl::Now(), absl::ZeroDuration());
  poll(&ended, 1, static_cast<int>(absl::ToInt64Milliseconds(left)));
  close(file);
}

}  // namespace

WiredWorld::WiredWorld(const Topology& topology, std::vector<std::unique_ptr<Wire>> wires, Doorbell* doorbell,
                       const CollectiveOptions& options)
    : topology_(topology),
      options_(options),
      // Without a limit of its own: what it holds is a part of what the devices' arrays are.
      staging_(std::make_shared<Allocator>("collectives", std::numeric_limits<int64_t>::max())) {
  if (wires.empty()) {
    if (topology.process(topology.self).num_devices > 1) watch_ = std::thread([this] { Watch(); });
    return;
  }
  Engine::Handlers handlers;
  handlers.on_failed = [this](ProgramRun run, const absl::Status& why) { RunFailed(run, why); };
  handlers.on_missed = [] { Mpi::DoNotFinalize(); };  // it would wait for the one that is gone
  handlers.on_tick = [this](absl::Duration stopped) {
    for (const auto& communicator : Communicators()) {
      communicator->Excuse(stopped);
      communicator->CheckMeetings(absl::Now());
      communicator->CheckDivergence(absl::Now());
    }
  };
  handlers.stage_of = [this](ProgramRun run) {
    const std::shared_ptr<GroupCommunicator> found = Find(run.communicator);
    return found == nullptr ? RunStage::kNotAskedFor : found->StageOf(run.id);
  };
  handlers.gatherings = [this](const Question& question) {
    const std::shared_ptr<GroupCommunicator> found = Find(question.key.run.communicator);
    return found == nullptr ? std::vector<Gathering>() : found->GatheringsOf(question);
  };
  engine_ =
      std::make_unique<Engine>(topology, std::move(wires), doorbell, options.timeout, std::move(handlers));
}

WiredWorld::~WiredWorld() {
  if (!watch_.joinable()) return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    has_ended_ = true;
  }
  ends_.notify_all();
  watch_.join();
}

void WiredWorld::Watch() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!ends_.wait_for(lock, kWatches, [this] { return has_ended_; })) {
    lock.unlock();
    for (const auto& communicator : Communicators()) communicator->CheckDivergence(absl::Now());
    lock.lock();
  }
}

GroupCommunicator::Options WiredWorld::OptionsWith(absl::string_view algorithms) const {
  return {.timeout = options_.timeout,
          .deterministic = options_.deterministic,
          .algorithms = std::string(algorithms),
          .staging = staging_,
          .workers = ShareOfCores(topology_)};
}

absl::StatusOr<std::shared_ptr<Communicator>> WiredWorld::GetCommunicator(
    absl::Span<const DeviceId> assignment) {
  GroupCommunicator::Options options = OptionsWith(options_.algorithms);
  options.table = options_.table;
  return Register(assignment, std::move(options));
}

absl::StatusOr<std::shared_ptr<Communicator>> WiredWorld::GetCommunicatorWith(
    absl::Span<const DeviceId> assignment, absl::string_view algorithms) {
  SHOAL_RETURN_IF_ERROR(CheckAlgorithms(algorithms));
  GroupCommunicator::Options options = OptionsWith(algorithms);
  options.own_name = true;
  return Register(assignment, std::move(options));
}

absl::StatusOr<std::shared_ptr<Communicator>> WiredWorld::Register(absl::Span<const DeviceId> assignment,
                                                                   GroupCommunicator::Options options) {
  for (DeviceId device : assignment) {
    if (device.value() < 0 || device.value() >= topology_.device_count()) {
      return absl::InvalidArgumentError(absl::StrCat("the device assignment names device ", device.value(),
                                                     " of ", topology_.device_count()));
    }
  }
  auto communicator =
      std::make_shared<GroupCommunicator>(std::vector<DeviceId>(assignment.begin(), assignment.end()),
                                          topology_, engine_.get(), std::move(options));
  std::lock_guard<std::mutex> lock(mutex_);
  return communicators_.emplace(communicator->id(), communicator).first->second;
}

std::vector<std::shared_ptr<GroupCommunicator>> WiredWorld::Communicators() {
  std::vector<std::shared_ptr<GroupCommunicator>> all;
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [id, communicator] : communicators_) all.push_back(communicator);
  return all;
}

std::shared_ptr<GroupCommunicator> WiredWorld::Find(uint64_t communicator) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto it = communicators_.find(communicator);
  return it == communicators_.end() ? nullptr : it->second;
}

void WiredWorld::RunFailed(ProgramRun run, const absl::Status& why) {
  // One that is not used here yet needs no telling: the engine remembers the run.
  const std::shared_ptr<GroupCommunicator> failed = Find(run.communicator);
  if (failed != nullptr) failed->RunFailed(run.id, why);
}

void WiredWorld::ProcessFailed(ProcessId process, const absl::Status& why) {
  if (engine_ != nullptr && process != topology_.self) engine_->ProcessLost(process, why);
}

bool WiredWorld::Leave(absl::string_view why, absl::Duration wait) {
  if (engine_ == nullptr) return false;
  engine_->Leave(why);
  // The last messages to whoever is slow: it may be stopped just now. An error has ended what they are part
  // of.
  if (why.empty()) {
    WaitWhile([&] { return engine_->Owes() && !engine_->HasMissed(); }, absl::Now() + options_.timeout);
  }
  const absl::Time start = absl::Now();
  const auto others_are_here = [&] { return engine_->GoneCount() < topology_.process_count() - 1; };
  // Nobody can tell us once we wait in MPI_Finalize that they will not come there, because they miss us.
  WaitWhile([&] { return Mpi::FinalizesAtExit() && others_are_here(); }, start + kMissedBy);
  // Who was told by another that somebody has gone learns soon in which way.
  WaitWhile([&] { return engine_->HasMissed() && engine_->GoneCount() == 0 && !engine_->IsBroken(); },
            start + kNoticed);
  if (!engine_->IsBroken()) return false;
  const absl::Time limit = absl::Now() + wait;
  WaitWhile(others_are_here, limit);
  // Between a process's goodbye and its end is the end of its interpreter.
  for (int p = 0; p < topology_.process_count(); ++p) {
    if (ProcessId(p) != topology_.self && topology_.SameHost(ProcessId(p), topology_.self))
      AwaitEnd(topology_.process(ProcessId(p)).pid, limit);
  }
  absl::SleepFor(std::clamp(limit - absl::Now(), absl::ZeroDuration(), kEndsElsewhere));
  return true;
}

absl::Status WiredWorld::Health() const { return engine_ == nullptr ? absl::OkStatus() : engine_->Health(); }

}  // namespace shoal

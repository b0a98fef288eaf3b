#include "collectives/engine/engine.h"

#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "collectives/transport/mpi.h"
#include "core/base/log.h"
#include "core/tasks/arena.h"

namespace shoal {
namespace {

// How often deadlines and peers' lives are looked at.
constexpr absl::Duration kTick = absl::Milliseconds(100);
// Runs that failed, kept so that what belongs to them and starts later fails at once.
constexpr size_t kFailuresKept = 1024;
// Passes without work before the progress thread sleeps. A pass over idle shared memory takes well under a
// microsecond. With fewer cores than processes the peer that we wait for needs our core.
constexpr int kSpinPasses = 200;
// A few cores saturate the memory.
constexpr int kMostHelpers = 7;
// With a wire that must be polled: so many looks in turn with whoever else wants the core, then this long
// between looks, doubled up to the second while nothing comes.
constexpr int kYieldPasses = 100;
constexpr absl::Duration kPollPause = absl::Microseconds(10), kLongestPollPause = absl::Microseconds(500);
// Patience of a run's starter, in nanoseconds of nothing coming: doubled when it was rewarded, halved when it
// was in vain. To wake the progress thread, and then the one that waits for the result, takes some 50 us.
constexpr int64_t kLeastPatience = 5'000, kMostPatience = 200'000;
// Longer than this nobody but the progress thread works for others.
constexpr int64_t kLongestStay = 50'000'000;

// Set while this thread stays with a run: what it starts meanwhile, from callbacks, it does not stay with.
thread_local bool stays_with_a_run = false;

}  // namespace

Engine::Engine(const Topology& topology, std::vector<std::unique_ptr<Wire>> wires, Doorbell* doorbell,
               absl::Duration timeout, Handlers handlers)
    : topology_(topology),
      timeout_(timeout),
      handlers_(std::move(handlers)),
      doorbell_(doorbell != nullptr ? doorbell : &own_doorbell_),
      transport_(
          std::move(wires), [this](ProcessId from, absl::Span<const char> bytes) { OnControl(from, bytes); },
          [this](ProcessId peer, const absl::Status& why) {
            Mpi::DoNotFinalize();
            std::lock_guard<std::mutex> lock(health_mutex_);
            health_ = health_.ok() ? why
                                   : absl::Status(health_.code(),
                                                  absl::StrCat(health_.message(), "; ", why.message()));
          }),
      recorder_(topology) {
  int here = 0;
  for (const ProcessInfo& process : topology_.processes)
    here += process.host == topology_.process(topology_.self).host;
  const int cores = AvailableCores();
  spins_ = here < cores;
  helpers_ = std::clamp(cores / here - 1, 0, kMostHelpers);
  patience_ns_ = kMostPatience;
  thread_ = std::thread([this] { ProgressThread(); });
}

Engine::~Engine() {
  stop_ = true;
  doorbell_->Ring();
  thread_.join();
  Outcome outcome;
  {
    std::lock_guard<std::mutex> lock(progress_mutex_);
    for (auto& run : runs_) {
      transport_.Cancel(run->collective());
      outcome.ended.emplace_back(std::move(run),
                                 absl::CancelledError("the collectives of this process have ended"));
    }
    runs_.clear();
    // What peers still wait for (a last message, or the word that their memory is free) must leave first.
    const absl::Time limit = absl::Now() + absl::Seconds(1);
    outcome_ = &outcome;
    while (transport_.HasBacklog() && absl::Now() < limit) transport_.Poll();
    outcome_ = nullptr;
  }
  Deliver(std::move(outcome));
}

// ---- starting

void Engine::Submit(Command command) {
  {
    std::lock_guard<std::mutex> lock(commands_mutex_);
    commands_.push_back(std::move(command));
    has_commands_ = true;
  }
  Outcome outcome;
  {
    std::unique_lock<std::mutex> lock(progress_mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return doorbell_->Ring();  // the owner may have looked at the commands already
    ProgressOnce(&outcome);
  }
  // What must be polled, and what others submitted meanwhile, is the thread's.
  if (transport_.needs_polling() || has_commands_) doorbell_->Ring();
  Deliver(std::move(outcome));
}

void Engine::Start(RunRequest request, bool stay) {
  if (!stay || stays_with_a_run) {
    auto shared = std::make_shared<RunRequest>(std::move(request));
    return Submit([this, shared] { BeginRun(std::move(*shared)); });
  }
  auto vigil = std::make_shared<Vigil>();
  auto done = std::make_shared<decltype(request.done)>(std::move(request.done));
  request.done = [vigil, done](const absl::Status& status, bool) {
    vigil->status = status;
    int state = Vigil::kWaiting;
    if (!vigil->state.compare_exchange_strong(state, Vigil::kEnded)) (*done)(status, false);
  };
  auto shared = std::make_shared<RunRequest>(std::move(request));
  stays_with_a_run = true;
  Submit([this, shared] { BeginRun(std::move(*shared)); });
  StayWith(vigil.get());
  stays_with_a_run = false;
  int state = Vigil::kWaiting;
  if (!vigil->state.compare_exchange_strong(state, Vigil::kLeft)) (*done)(vigil->status, true);
}

// Makes progress until the run has ended or nothing has come for as long as patience lasts.
void Engine::StayWith(Vigil* vigil) {
  const auto ended = [vigil] { return vigil->state.load(std::memory_order_acquire) == Vigil::kEnded; };
  if (ended()) return;
  doorbell_->Watch();
  const int64_t patience = patience_ns_.load(std::memory_order_relaxed);
  uint32_t ticket = doorbell_->Ticket();
  const int64_t start = absl::GetCurrentTimeNanos();
  int64_t last_work = start;
  for (int idle_passes = 0; !ended();) {
    ticket = doorbell_->Ticket();
    Outcome outcome;
    bool worked = false;
    if (std::unique_lock<std::mutex> lock(progress_mutex_, std::try_to_lock); lock.owns_lock()) {
      worked = ProgressOnce(&outcome);
    }
    Deliver(std::move(outcome));
    if (worked) {
      last_work = absl::GetCurrentTimeNanos();
      idle_passes = 0;
      if (last_work - start > kLongestStay) break;
      continue;
    }
    if (absl::GetCurrentTimeNanos() - last_work > patience) break;
    if (!spins_ || ++idle_passes > kSpinPasses) sched_yield();
  }
  patience_ns_ = ended() ? std::min(patience * 2, kMostPatience) : std::max(patience / 2, kLeastPatience);
  doorbell_->Unwatch(ticket);
  if (active_ > 0) doorbell_->Ring();  // the rest is the thread's
}

void Engine::Abort(uint64_t communicator, int64_t run, const absl::Status& why) {
  Submit([=, this] { FailRun(communicator, run, why, /*tell_others=*/true); });
}

void Engine::ProcessLost(ProcessId process, const absl::Status& why) {
  Submit([=, this] { transport_.PeerLost(process, why); });
}

absl::Status Engine::Health() const {
  std::lock_guard<std::mutex> lock(health_mutex_);
  return health_;
}

// ---- progress

bool Engine::DrainCommands() {
  if (!has_commands_.load(std::memory_order_acquire)) return false;
  std::vector<Command> commands;
  {
    std::lock_guard<std::mutex> lock(commands_mutex_);
    commands.swap(commands_);
    has_commands_ = false;
  }
  for (Command& command : commands) command();
  return !commands.empty();
}

bool Engine::ProgressOnce(Outcome* outcome) {
  outcome_ = outcome;
  bool worked = DrainCommands();
  worked = transport_.Poll() || worked;
  for (size_t i = 0; i < runs_.size();) {
    if (!runs_[i]->Advance()) {
      ++i;
    } else if (runs_[i]->status().ok()) {
      recorder_.Ended(runs_[i]->request().announcement.key, absl::OkStatus(), absl::Now());
      outcome->ended.emplace_back(std::move(runs_[i]), absl::OkStatus());
      runs_.erase(runs_.begin() + i);
      worked = true;
    } else {
      const CollectiveKey key = runs_[i]->request().announcement.key;
      FailRun(key.communicator, key.run, Describe(*runs_[i], runs_[i]->status()), /*tell_others=*/true);
      worked = true;
      i = 0;
    }
  }
  if (const absl::Time now = absl::Now(); now >= next_tick_) {
    next_tick_ = now + kTick;
    Tick(now);
    outcome->tick = true;
  }
  active_ = static_cast<int>(runs_.size());
  outcome_ = nullptr;
  return worked;
}

void Engine::Tick(absl::Time now) {
  transport_.FindLostPeers();
  for (size_t i = 0; i < runs_.size();) {
    if (now - runs_[i]->start() < timeout_) {
      ++i;
      continue;
    }
    const CollectiveKey key = runs_[i]->request().announcement.key;
    FailRun(key.communicator, key.run, Missing(*runs_[i]), /*tell_others=*/true);
    i = 0;
  }
}

void Engine::Deliver(Outcome outcome) {
  for (const Failure& failure : outcome.failed) {
    handlers_.on_failed(failure.communicator, failure.run, failure.why);
  }
  for (auto& [run, status] : outcome.ended) {
    const auto done = std::move(run->request().done);
    run.reset();
    done(status, /*by_starter=*/false);
  }
  if (outcome.tick && handlers_.on_tick) handlers_.on_tick();
}

void Engine::ProgressThread() {
  prctl(PR_SET_TIMERSLACK, 1000);  // nanoseconds; by default short pauses last 50 us longer
  int idle_passes = 0;
  while (!stop_) {
    const uint32_t ticket = doorbell_->Ticket();
    Outcome outcome;
    bool worked = false, backlog = false;
    {
      std::lock_guard<std::mutex> lock(progress_mutex_);
      worked = ProgressOnce(&outcome);
      backlog = transport_.HasBacklog();
    }
    worked = worked || !outcome.ended.empty();
    Deliver(std::move(outcome));
    if (worked) {
      idle_passes = 0;
    } else {
      Idle(ticket, backlog || (transport_.needs_polling() && active_ > 0), &idle_passes);
    }
  }
}

void Engine::Idle(uint32_t ticket, bool busy, int* idle_passes) {
  ++*idle_passes;
  if (doorbell_->IsWatched()) return doorbell_->Wait(ticket, kTick);  // somebody else is at it
  if (active_ > 0 && spins_ && *idle_passes < kSpinPasses) return;
  if (busy && *idle_passes < kYieldPasses) {
    sched_yield();
  } else if (busy) {
    const int doublings = std::min(*idle_passes / 32, 10);
    doorbell_->Wait(ticket, std::min(kPollPause * (1 << doublings), kLongestPollPause));
  } else {
    doorbell_->Wait(ticket, transport_.needs_polling() ? absl::Milliseconds(5) : kTick);
  }
}

// ---- runs

void Engine::BeginRun(RunRequest request) {
  const CollectiveKey& key = request.announcement.key;
  auto run = std::make_unique<Run>(std::move(request), &transport_, helpers_);
  if (const absl::Status* known = KnownFailure(key.communicator, key.run)) {
    outcome_->ended.emplace_back(std::move(run), *known);
    return;
  }
  for (ProcessId process : run->request().processes) {
    if (process == topology_.self || transport_.Reaches(process)) continue;
    const absl::Status why = absl::UnavailableError(absl::StrCat("no transport reaches ", NameOf(process)));
    outcome_->ended.emplace_back(std::move(run), why);
    return;
  }
  recorder_.Started(run->request().announcement, run->start());
  run->Begin();
  runs_.push_back(std::move(run));
  CheckEarly(runs_.back().get());
}

// Announcements that came before the run was started here: its own are used up, and one of the same run id by
// another program is a mismatch already.
void Engine::CheckEarly(Run* run) {
  const Announcement& ours = run->request().announcement;
  for (size_t i = 0; i < early_.size();) {
    const Early early = early_[i];
    const Announcement& theirs = early.announcement;
    const bool same_run = theirs.key.communicator == ours.key.communicator && theirs.key.run == ours.key.run;
    const bool same_collective = theirs.key == ours.key;
    if (same_collective) {
      early_.erase(early_.begin() + i);
    } else {
      ++i;
    }
    const bool fits =
        same_collective ? run->Accept(early.from, theirs) : !same_run || theirs.program == ours.program;
    if (!fits) return Mismatch(ours, early.from, theirs);
  }
}

void Engine::OnControl(ProcessId from, absl::Span<const char> bytes) {
  Announcement announcement;
  AbortNotice notice;
  if (Decode(bytes, &announcement)) {
    recorder_.Heard(from, announcement, absl::Now());
    OnAnnouncement(from, announcement);
  } else if (Decode(bytes, &notice)) {
    next_tick_ = absl::InfinitePast();  // its cause may be a lost peer, that we should know of too
    FailRun(notice.communicator, notice.run, notice.why, /*tell_others=*/false);
  } else {
    SHOAL_WARN << "an unreadable control message of " << bytes.size() << " bytes from " << NameOf(from);
  }
}

void Engine::OnAnnouncement(ProcessId from, const Announcement& theirs) {
  if (KnownFailure(theirs.key.communicator, theirs.key.run) != nullptr) return;
  for (const auto& run : runs_) {
    const Announcement& ours = run->request().announcement;
    if (ours.key == theirs.key) {
      if (!run->Accept(from, theirs)) Mismatch(ours, from, theirs);
      return;
    }
    const bool same_run = ours.key.communicator == theirs.key.communicator && ours.key.run == theirs.key.run;
    if (same_run && ours.program != theirs.program) return Mismatch(ours, from, theirs);
  }
  early_.push_back({from, theirs});
}

void Engine::Mismatch(const Announcement& ours, ProcessId from, const Announcement& theirs) {
  const auto describe = [](const Announcement& a) {
    return absl::StrCat("'", a.name, "' (collective ", a.key.number, " of program ", absl::Hex(a.program),
                        ")");
  };
  const bool same_program = ours.program == theirs.program;
  FailRun(ours.key.communicator, ours.key.run,
          absl::FailedPreconditionError(
              absl::StrCat("processes disagree in run ", ours.key.run, ": ", NameOf(topology_.self),
                           " is at ", describe(ours), ", ", NameOf(from), " is at ", describe(theirs), "; ",
                           same_program ? "the same program must do the same collectives everywhere"
                                        : "all processes must run the same program in the same order")),
          /*tell_others=*/true);
}

void Engine::FailRun(uint64_t communicator, int64_t run, const absl::Status& why, bool tell_others) {
  if (KnownFailure(communicator, run) != nullptr) return;
  failures_.push_back({communicator, run, why});
  if (failures_.size() > kFailuresKept) failures_.pop_front();
  outcome_->failed.push_back(failures_.back());
  SHOAL_LOG_AT(1) << "run " << run << " failed: " << why.message();
  for (size_t i = 0; i < runs_.size();) {
    const CollectiveKey& key = runs_[i]->request().announcement.key;
    if (key.communicator != communicator || key.run != run) {
      ++i;
      continue;
    }
    transport_.Cancel(runs_[i]->collective());
    recorder_.Ended(key, why, absl::Now());
    outcome_->ended.emplace_back(std::move(runs_[i]), why);
    runs_.erase(runs_.begin() + i);
  }
  recorder_.Write(why);
  std::erase_if(early_, [&](const Early& early) {
    return early.announcement.key.communicator == communicator && early.announcement.key.run == run;
  });
  if (!tell_others) return;
  const std::vector<char> notice = Encode(AbortNotice{communicator, run, why});
  for (int p = 0; p < topology_.process_count(); ++p) {
    const ProcessId process(p);
    if (process != topology_.self && transport_.Reaches(process)) transport_.SendControl(process, notice);
  }
}

const absl::Status* Engine::KnownFailure(uint64_t communicator, int64_t run) const {
  for (const Failure& failure : failures_) {
    if (failure.communicator == communicator && failure.run == run) return &failure.why;
  }
  return nullptr;
}

// ---- messages

std::string Engine::NameOf(ProcessId process) const {
  const ProcessInfo& info = topology_.process(process);
  return absl::StrCat("process ", process.value(), " (", info.host_name, ", pid ", info.pid, ")");
}

absl::Status Engine::Describe(const Run& run, const absl::Status& why) const {
  const Announcement& ours = run.request().announcement;
  return absl::Status(why.code(), absl::StrCat(why.message(), "; ", NameOf(topology_.self), " was in '",
                                               ours.name, "' of run ", ours.key.run, " for ",
                                               absl::FormatDuration(absl::Now() - run.start())));
}

absl::Status Engine::Missing(const Run& run) const {
  bool all_announced = false;
  const std::vector<ProcessId> awaited = run.Awaited(&all_announced);
  const absl::Time now = absl::Now();
  const std::string names =
      absl::StrJoin(awaited, ", ", [this](std::string* out, ProcessId p) { out->append(NameOf(p)); });
  const Announcement& ours = run.request().announcement;
  const std::string where = absl::StrCat("'", ours.name, "' of run ", ours.key.run);
  const std::string waited = absl::FormatDuration(timeout_);
  if (awaited.empty()) {
    return absl::DeadlineExceededError(
        absl::StrCat("peers have not taken their data of ", where, " within ", waited));
  }
  if (all_announced) {
    return absl::DeadlineExceededError(
        absl::StrCat(names, " came to ", where, " but has not sent its data within ", waited));
  }
  return absl::DeadlineExceededError(absl::StrCat(
      names, " has not come to ", where, ", where ", NameOf(topology_.self), " has waited for ", waited,
      "; it may be busy elsewhere or run another program (SHOAL_TIMEOUT_S sets the limit); ",
      absl::StrJoin(awaited, "; ", [this, now](std::string* out, ProcessId p) {
        absl::StrAppend(out, "process ", p.value(), " ", recorder_.LastHeard(p, now));
      })));
}

}  // namespace shoal

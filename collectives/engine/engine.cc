#include "collectives/engine/engine.h"

#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/tasks/arena.h"

namespace shoal {
namespace {

// How often deadlines and peers' lives are looked at.
constexpr absl::Duration kTick = absl::Milliseconds(100);
// The progress thread that has not ticked for so long was not let run: by the scheduler, or as the whole job
// has been suspended. Its peers may have been stopped as long, and shall have their time.
constexpr absl::Duration kStopped = absl::Seconds(1);
// Runs that failed, kept so that what belongs to them and starts later fails at once.
constexpr size_t kFailuresKept = 1024;
// Passes without work before the progress thread sleeps. A pass over idle shared memory takes well under a
// microsecond. With fewer cores than processes the peer that we wait for needs our core.
constexpr int kSpinPasses = 200;
// A few cores saturate the memory.
constexpr int kMostHelpers = 7;
// With a wire that must be polled: so many looks in turn with whoever else wants the core, if there are cores
// enough, then this long between looks, doubled up to the second while nothing comes. With more processes
// than cores to yield is to wait for whole time slices of the others, some 3 ms each; who sleeps is let in at
// once. Two hosts of two processes on two busy cores, 1 MiB all-reduce over UCX, best of 30: 14.1 ms in
// turns, 9.5 asleep (and with slices of 128 KiB).
constexpr int kYieldPasses = 100;
constexpr absl::Duration kPollPause = absl::Microseconds(10), kLongestPollPause = absl::Microseconds(500);
// And the longest while large data is under way: a fast network fills its buffers meanwhile.
constexpr absl::Duration kLongestBulkPause = absl::Microseconds(20);
// Nanoseconds; by default short pauses last 50 us longer.
constexpr unsigned long kTimerSlack = 1000;
// Patience of an exchange's starter, in nanoseconds of nothing coming: the most where the last one took no
// longer, whoever saw its end; halved where it did. To wake the progress thread, and then the one that waits
// for the result, takes some 50 us. With more processes than cores most of the time is the peers', who have
// the core.
constexpr int64_t kLeastPatience = 5'000, kMostPatience = 200'000, kMostPatienceInTurn = 2'000'000;
// And where it sleeps between its looks, for whole collectives over a network: it takes the core from nobody.
// Not for ever, as the caller may have other devices to start, whose groups peers await first.
// Two hosts of two processes on two cores over 1 Gbit/s, 1 MiB, as a multiple of what the wire needs, with
// slices of 128 KiB and 2 ms, and with slices of 60 KiB and this: all-reduce 1.14 to 1.58 and 0.93,
// reduce-scatter 1.3 to 2.9 and 1.05. An all-reduce takes 9 ms, and patience is for exchanges that end within
// it.
constexpr int64_t kMostPatienceAsleep = 20'000'000;
// Longer than this nobody but the progress thread works for others.
constexpr int64_t kLongestStay = 50'000'000;

int ProcessesHere(const Topology& topology) {
  int here = 0;
  for (const ProcessInfo& process : topology.processes)
    here += process.host == topology.process(topology.self).host;
  return here;
}

// Set while this thread stays with an exchange: what it starts meanwhile, from callbacks, it does not stay
// with.
thread_local bool stays = false;

}  // namespace

int ShareOfCores(const Topology& topology) { return std::max(1, AvailableCores() / ProcessesHere(topology)); }

Engine::Engine(const Topology& topology, std::vector<std::unique_ptr<Wire>> wires, Doorbell* doorbell,
               absl::Duration timeout, Handlers handlers)
    : topology_(topology),
      timeout_(timeout),
      handlers_(std::move(handlers)),
      doorbell_(doorbell != nullptr ? doorbell : &own_doorbell_),
      transport_(
          topology.process_count(), std::move(wires),
          [this](ProcessId from, absl::Span<const char> bytes) { OnControl(from, bytes); },
          [this](ProcessId peer, const absl::Status& why) { OnLost(peer, why); }),
      diagnosis_(topology),
      last_took_(topology.process_count(), absl::InfinitePast()) {
  spins_ = ProcessesHere(topology_) < AvailableCores();
  helpers_ = std::min(ShareOfCores(topology_) - 1, kMostHelpers);
  const int64_t unhurried = transport_.needs_polling() ? kMostPatienceAsleep : kMostPatienceInTurn;
  most_patience_ns_ = spins_ ? kMostPatience : unhurried;
  patience_ns_ = most_patience_ns_;
  thread_ = std::thread([this] { ProgressThread(); });
}

Engine::~Engine() {
  stop_ = true;
  doorbell_->Ring();
  thread_.join();
  Outcome outcome;
  {
    std::lock_guard<std::mutex> lock(progress_mutex_);
    outcome_ = &outcome;
    while (!exchanges_.empty()) {
      transport_.Cancel(exchanges_.back()->collective());
      EndExchange(exchanges_.size() - 1, absl::CancelledError("the collectives of this process have ended"));
    }
    SayGoodbye("");
    // What peers still wait for (a last message, or the word that their memory is free) must leave first.
    const absl::Time limit = absl::Now() + absl::Seconds(1);
    transport_.Knock();
    while (transport_.HasBacklog(/*even_if_left=*/true) && absl::Now() < limit) transport_.Poll();
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
  Look();
}

void Engine::Look() {
  Outcome outcome;
  {
    std::unique_lock<std::mutex> lock(progress_mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return doorbell_->Ring();  // the owner may have looked at the commands already
    ProgressOnce(&outcome);
  }
  AfterLook(std::move(outcome));
}

void Engine::Begin(ExchangeRequest request) {
  Outcome outcome;
  {
    std::unique_lock<std::mutex> lock(progress_mutex_, std::try_to_lock);
    if (!lock.owns_lock()) {
      return Submit([this, request = std::move(request)]() mutable { BeginExchange(std::move(request)); });
    }
    ProgressOnce(&outcome, &request);
  }
  AfterLook(std::move(outcome));
}

// What must be polled, and what others submitted meanwhile, is the thread's.
void Engine::AfterLook(Outcome outcome) {
  if (transport_.needs_polling() || has_commands_) doorbell_->Ring();
  Deliver(std::move(outcome));
}

void Engine::Start(ExchangeRequest request, bool stay) {
  if (!stay || stays) return Begin(std::move(request));
  const auto vigil = std::make_shared<Vigil>(this, std::move(request.done));
  request.done = [vigil](const absl::Status& status, bool) { vigil->End(status); };
  stays = true;
  // Before peers hear of the exchange: what they send for it shall wake nobody, neither now nor at the end.
  doorbell_->Watch();
  const uint32_t ticket = doorbell_->Ticket();
  Begin(std::move(request));
  const bool was_rung = !doorbell_->Unwatch(StayWith(vigil.get(), ticket));
  if (was_rung || resting_ > 0) Look();       // from here on knocks are heard
  if (active_ > resting_) doorbell_->Ring();  // the rest is the thread's
  stays = false;
  int state = Vigil::kWaiting;
  if (!vigil->state.compare_exchange_strong(state, Vigil::kLeft)) vigil->done(vigil->status, true);
}

void Engine::Vigil::End(const absl::Status& exchange_status) {
  std::atomic<int64_t>& patience_ns = engine->patience_ns_;
  const int64_t most = engine->most_patience_ns_;
  patience_ns = absl::GetCurrentTimeNanos() - start_ns < most
                    ? most
                    : std::max(patience_ns.load(std::memory_order_relaxed) / 2, kLeastPatience);
  status = exchange_status;
  int before = kWaiting;
  if (!state.compare_exchange_strong(before, kEnded)) done(status, false);
}

uint32_t Engine::StayWith(Vigil* vigil, uint32_t ticket) {
  const auto ended = [vigil] { return vigil->state.load(std::memory_order_acquire) == Vigil::kEnded; };
  if (ended()) return ticket;
  const int64_t patience = patience_ns_.load(std::memory_order_relaxed);
  const bool sleeps = transport_.needs_polling() && !spins_;
  const int slack = sleeps ? prctl(PR_GET_TIMERSLACK) : 0;
  if (sleeps) prctl(PR_SET_TIMERSLACK, kTimerSlack);
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
    if (sleeps) {
      doorbell_->Wait(ticket, kLongestBulkPause);
    } else if (!spins_ || ++idle_passes > kSpinPasses) {
      sched_yield();
    }
  }
  if (sleeps) prctl(PR_SET_TIMERSLACK, slack);
  return ticket;
}

void Engine::Abort(ProgramRun run, const absl::Status& why) {
  Submit([=, this] { FailRun(run, why); });
}

void Engine::ProcessLost(ProcessId process, const absl::Status& why) {
  Submit([=, this] { transport_.PeerLost(process, why); });
}

void Engine::NoteCaller() {
  const size_t self = std::hash<std::thread::id>()(std::this_thread::get_id());
  size_t known = 0;
  if (!caller_.compare_exchange_strong(known, self) && known != self) several_callers_ = true;
}

void Engine::Leave(absl::string_view why) {
  Submit([this, why = std::string(why)] { SayGoodbye(why); });
}

bool Engine::Owes() {
  std::lock_guard<std::mutex> lock(progress_mutex_);
  return transport_.HasBacklog(/*even_if_left=*/false);
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

// Knocks are awaited while there are exchanges, unless somebody watches, who looks for work anyway: then a
// frame costs its sender no write to this process's doorbell. Who stops watching and then finds exchanges
// left, in active_, rings; if these began only then, the one who began them finds nobody watching.
bool Engine::ProgressOnce(Outcome* outcome, ExchangeRequest* begins) {
  outcome_ = outcome;
  now_ = absl::Now();
  bool worked = DrainCommands();
  if (begins != nullptr) BeginExchange(std::move(*begins));
  if (!doorbell_->IsWatched()) doorbell_->AwaitKnocks(!exchanges_.empty());  // before the look
  worked = transport_.Poll() || worked;
  for (size_t i = 0; i < exchanges_.size();) {
    if (!exchanges_[i]->Advance()) {
      worked = worked || exchanges_[i]->HasMore();
      if (exchanges_[i]->IsWhole() && !exchanges_[i]->Lingers()) {
        TellDone(exchanges_[i].get(), absl::OkStatus());
        worked = true;
      }
      ++i;
    } else if (exchanges_[i]->status().ok()) {
      EndExchange(i, absl::OkStatus());
      worked = true;
    } else {
      FailRun(exchanges_[i]->run(), Broken(*exchanges_[i]));
      worked = true;
      i = 0;
    }
  }
  if (now_ >= next_tick_) {
    next_tick_ = now_ + kTick;
    Tick(now_);
    outcome->tick = true;
  }
  transport_.Knock();
  active_ = static_cast<int>(exchanges_.size());
  const auto lingering = std::count_if(exchanges_.begin(), exchanges_.end(),
                                       [](const auto& exchange) { return exchange->Lingers(); });
  resting_ = lingering > 0 && transport_.HasBacklog(/*even_if_left=*/true) ? 0 : static_cast<int>(lingering);
  if (exchanges_.empty()) {
    doorbell_->AwaitKnocks(false);
  } else if (!doorbell_->AwaitsKnocks() && !doorbell_->IsWatched()) {
    doorbell_->Ring();  // the watcher has left, perhaps before there were exchanges
  }
  outcome_ = nullptr;
  return worked;
}

absl::Duration Engine::StoppedSinceLastTick(absl::Time now) {
  const absl::Duration since = now - std::exchange(last_tick_, now);
  return since > kStopped ? since : absl::ZeroDuration();
}

// Who takes what went before, however slowly, will take the rest.
absl::Time Engine::WaitsSince(const Exchange& exchange) const {
  const auto [awaited, what] = exchange.Awaited();
  if (what != Exchange::AwaitedPeers::kToTake || awaited.empty()) return exchange.start();
  absl::Time since = absl::InfiniteFuture();
  for (ProcessId process : awaited) since = std::min(since, last_took_[process.value()]);
  return std::max(since, exchange.start());
}

void Engine::Tick(absl::Time now) {
  outcome_->stopped = StoppedSinceLastTick(now);
  for (const auto& exchange : exchanges_) exchange->Excuse(outcome_->stopped);
  transport_.FindLostPeers();
  transport_.TellTaken();
  for (size_t p = 0; p < last_took_.size(); ++p) {
    if (transport_.HasTaken(ProcessId(static_cast<int>(p)))) last_took_[p] = now;
  }
  for (size_t i = 0; i < exchanges_.size();) {
    if (now - exchanges_[i]->start() < timeout_ || now - WaitsSince(*exchanges_[i]) < timeout_) {
      ++i;
      continue;
    }
    FailRun(exchanges_[i]->run(), diagnosis_.Missing(*exchanges_[i], timeout_, now));
    i = 0;
  }
  Ask(now);
}

void Engine::Deliver(Outcome outcome) {
  for (const Failure& failure : outcome.failed) handlers_.on_failed(failure.run, failure.why);
  outcome.ended.clear();
  for (auto& [done, status] : outcome.done) done(status, /*by_starter=*/false);
  if (outcome.tick && handlers_.on_tick) handlers_.on_tick(outcome.stopped);
}

void Engine::ProgressThread() {
  prctl(PR_SET_TIMERSLACK, kTimerSlack);
  int idle_passes = 0;
  while (!stop_) {
    const uint32_t ticket = doorbell_->Ticket();
    Outcome outcome;
    bool worked = false, backlog = false, moves_bulk = false;
    {
      std::lock_guard<std::mutex> lock(progress_mutex_);
      worked = ProgressOnce(&outcome);
      backlog = transport_.HasBacklog(/*even_if_left=*/true);
      moves_bulk = transport_.needs_polling() && transport_.MovesBulk();
    }
    worked = worked || !outcome.done.empty();
    Deliver(std::move(outcome));
    if (worked) {
      idle_passes = 0;
    } else {
      Idle(ticket, backlog || (transport_.needs_polling() && active_ > 0), moves_bulk, &idle_passes);
    }
  }
}

void Engine::Idle(uint32_t ticket, bool busy, bool moves_bulk, int* idle_passes) {
  ++*idle_passes;
  if (doorbell_->IsWatched()) return doorbell_->Wait(ticket, kTick);  // somebody else is at it
  if (active_ > 0 && spins_ && *idle_passes < kSpinPasses) return;
  if (busy && spins_ && *idle_passes < kYieldPasses) {
    sched_yield();
  } else if (busy) {
    const int doublings = std::min(*idle_passes / 32, 10);
    doorbell_->Wait(
        ticket, std::min(kPollPause * (1 << doublings), moves_bulk ? kLongestBulkPause : kLongestPollPause));
  } else {
    doorbell_->Wait(ticket, transport_.needs_polling() ? absl::Milliseconds(5) : kTick);
  }
}

// ---- exchanges

void Engine::BeginExchange(ExchangeRequest request) {
  auto exchange = std::make_unique<Exchange>(std::move(request), &transport_, helpers_);
  const ProgramRun run = exchange->run();
  if (const absl::Status* known = KnownFailure(run)) {
    outcome_->done.emplace_back(exchange->TakeDone(), *known);
    return outcome_->ended.push_back(std::move(exchange));
  }
  if (absl::Status why = WhyRefused(*exchange); !why.ok()) {
    outcome_->done.emplace_back(exchange->TakeDone(), why);
    outcome_->ended.push_back(std::move(exchange));
    return FailRun(run, why);
  }
  diagnosis_.recorder().Started(exchange->announcement(), exchange->start());
  exchange->Begin();
  exchanges_.push_back(std::move(exchange));
  CheckEarly(exchanges_.back().get());
}

// Of those that this process waits for.
const Exchange* Engine::Oldest() const {
  const auto it = std::find_if(exchanges_.begin(), exchanges_.end(),
                               [](const auto& exchange) { return !exchange->Lingers(); });
  return it == exchanges_.end() ? nullptr : it->get();
}

void Engine::TellDone(Exchange* exchange, const absl::Status& status) {
  diagnosis_.recorder().Ended(exchange->announcement().key, status, absl::Now());
  outcome_->done.emplace_back(exchange->TakeDone(), status);
}

void Engine::EndExchange(size_t position, const absl::Status& status) {
  if (!exchanges_[position]->Lingers()) TellDone(exchanges_[position].get(), status);
  outcome_->ended.push_back(std::move(exchanges_[position]));
  exchanges_.erase(exchanges_.begin() + static_cast<std::ptrdiff_t>(position));
}

absl::Status Engine::WhyRefused(const Exchange& exchange) const {
  for (const auto& [process, why] : dead_) {
    if (!exchange.Involves(process)) continue;
    return absl::Status(why.code(),
                        absl::StrCat(why.message(), "; so '", exchange.announcement().name, "' of run ",
                                     exchange.run().id, ", which needs it, has not been started"));
  }
  for (ProcessId process : exchange.processes()) {
    if (process == topology_.self || transport_.Reaches(process)) continue;
    return absl::UnavailableError(absl::StrCat("no transport reaches ", diagnosis_.NameOf(process)));
  }
  return absl::OkStatus();
}

absl::Status Engine::Broken(const Exchange& exchange) const {
  std::vector<ProcessId> gone;
  for (const auto& [process, why] : dead_) {
    if (exchange.Involves(process)) gone.push_back(process);
  }
  return diagnosis_.Broken(exchange, exchange.status(), gone, absl::Now());
}

// Announcements that came before the exchange was started here: its own are used up, and one of the same run
// by another program is a mismatch already.
void Engine::CheckEarly(Exchange* exchange) {
  const Announcement& ours = exchange->announcement();
  const auto of_run = early_.find(ours.key.run);
  if (of_run == early_.end()) return;
  for (Early& early : of_run->second) {
    const Announcement& theirs = early.announcement;
    early.used_up = theirs.key == ours.key;
    if (early.used_up ? !exchange->Accept(early.from, theirs) : theirs.program != ours.program) {
      return FailRun(ours.key.run, diagnosis_.Mismatch(ours, early.from, theirs));
    }
  }
  auto* const end = std::remove_if(of_run->second.begin(), of_run->second.end(),
                                   [](const Early& early) { return early.used_up; });
  of_run->second.erase(end, of_run->second.end());
  if (of_run->second.empty()) early_.erase(of_run);
}

void Engine::OnControl(ProcessId from, absl::Span<const char> bytes) {
  if (Decode(bytes, &heard_)) {
    diagnosis_.recorder().Heard(from, heard_, now_);
    return OnAnnouncement(from, heard_);
  }
  AbortNotice notice;
  Question question;
  Answer answer;
  Hindrance hindrance;
  Goodbye goodbye;
  if (Decode(bytes, &question)) {
    OnQuestion(from, question);
  } else if (Decode(bytes, &answer)) {
    OnAnswer(from, answer);
  } else if (Decode(bytes, &hindrance)) {
    OnHindrance(std::move(hindrance));
  } else if (Decode(bytes, &goodbye)) {
    OnGoodbye(from, goodbye);
  } else if (Decode(bytes, &notice)) {
    next_tick_ = absl::InfinitePast();  // its cause may be a lost peer, that we should know of too
    FailRun(notice.run, notice.why, /*tell_others=*/false);
  } else {
    SHOAL_WARN << "an unreadable control message of " << bytes.size() << " bytes from "
               << diagnosis_.NameOf(from);
  }
}

void Engine::OnAnnouncement(ProcessId from, const Announcement& theirs) {
  if (KnownFailure(theirs.key.run) != nullptr) return;
  for (const auto& exchange : exchanges_) {
    const Announcement& ours = exchange->announcement();
    if (ours.key.run != theirs.key.run) continue;
    const bool same_collective = ours.key == theirs.key;
    const bool fits = same_collective ? exchange->Accept(from, theirs) : ours.program == theirs.program;
    if (!fits) return FailRun(ours.key.run, diagnosis_.Mismatch(ours, from, theirs));
    if (same_collective) return;
  }
  early_[theirs.key.run].push_back({from, theirs});
}

// ---- goodbyes

void Engine::OnGoodbye(ProcessId from, const Goodbye& goodbye) {
  ++gone_;
  transport_.PeerLeft(
      from, absl::UnavailableError(absl::StrCat(
                diagnosis_.NameOf(from), " has left the job: its program ended",
                goodbye.why.empty() ? "" : absl::StrCat(" by ", goodbye.why),
                goodbye.missed.empty() ? "" : absl::StrCat(" after it was told: ", goodbye.missed))));
  for (const auto& exchange : exchanges_) exchange->NoteGone(from);
}

// Whoever learns only that this process has gone shall learn why it went.
void Engine::SayGoodbye(absl::string_view why) {
  if (std::exchange(left_, true)) return;
  TellAll(Encode(Goodbye{std::string(why), why.empty() ? std::string(first_miss_.message()) : ""}));
}

void Engine::TellAll(const std::vector<char>& bytes, bool even_if_left) {
  for (int p = 0; p < topology_.process_count(); ++p) {
    const ProcessId process(p);
    if (process != topology_.self && transport_.Reaches(process))
      transport_.SendControl(process, bytes, even_if_left);
  }
}

// ---- failures

void Engine::OnLost(ProcessId peer, const absl::Status& why) {
  handlers_.on_missed();
  for (const auto& exchange : exchanges_) exchange->NoteGone(peer);
  dead_.emplace_back(peer, why);
  broken_ = true;
  ++gone_;
  std::lock_guard<std::mutex> lock(health_mutex_);
  health_ =
      health_.ok() ? why : absl::Status(health_.code(), absl::StrCat(health_.message(), "; ", why.message()));
}

void Engine::FailRun(ProgramRun run, const absl::Status& why, bool tell_others) {
  if (KnownFailure(run) != nullptr) return;
  failures_.push_back({run, why});
  if (failures_.size() > kFailuresKept) failures_.pop_front();
  outcome_->failed.push_back(failures_.back());
  SHOAL_LOG_AT(1) << "run " << run.id << " failed: " << why.message();
  for (size_t i = 0; i < exchanges_.size();) {
    if (exchanges_[i]->run() != run) {
      ++i;
      continue;
    }
    transport_.Cancel(exchanges_[i]->collective());
    EndExchange(i, why);
  }
  diagnosis_.recorder().Write(why);
  early_.erase(run);
  if (absl::IsDeadlineExceeded(why)) broken_ = true;
  if (absl::IsUnavailable(why) || absl::IsDeadlineExceeded(why)) {
    if (!missed_.exchange(true)) first_miss_ = why;
    handlers_.on_missed();
  }
  if (tell_others) TellAll(Encode(AbortNotice{run, diagnosis_.AsToldToOthers(why)}), /*even_if_left=*/true);
}

const absl::Status* Engine::KnownFailure(ProgramRun run) const {
  for (const Failure& failure : failures_) {
    if (failure.run == run) return &failure.why;
  }
  return nullptr;
}

}  // namespace shoal

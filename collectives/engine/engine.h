// Engine: runs collectives between processes. It owns the transport and the one thread that makes progress
// when nobody else does; whoever starts a collective makes progress too if the thread is not at it just then,
// and who has nothing else to do stays at it while its peers are prompt: waking threads takes longer than a
// small message does.
//
// Thread-safe. Nothing blocks but the destructor, and Owes for a pass of progress. Callbacks come without a
// lock held, on whatever thread made progress.
//
// An exchange that may linger (ExchangeRequest::lingers_with) is over for this process, and for its run, when
// all that it gets is there; the engine goes on with it until its peers have what they get.
//
// Failures: where one exchange fails (a message that does not fit, a lost peer, a peer that announces another
// operation, the timeout, an abort) all of its ProgramRun fail, here and, by a notice, in all other
// processes. What is started for a failed run later fails at once with the first cause, and so does what
// needs a process that has died. The time in which this process was stopped itself, by a signal or with its
// machine, does not count as waited. An exchange that waits asks those it waits for: they may be in another
// run, that was never asked for here, or in another collective of the same run, and would wait for ever.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "collectives/engine/diagnosis.h"
#include "collectives/engine/exchange.h"
#include "collectives/engine/hindrances.h"
#include "collectives/transport/doorbell.h"
#include "collectives/transport/transport.h"
#include "core/base/topology.h"

namespace shoal {

// Cores of this host that this process may keep busy while the job's other processes here do the same; at
// least 1.
int ShareOfCores(const Topology& topology);

// How far a run has come in this process: all its participants here have ended it, without coming to all
// collectives perhaps, or may still come to some.
enum class RunStage { kNotAskedFor, kAskedFor, kOver };

// A collective that some participants of this process have come to and others have not: it has no exchange
// yet.
struct Gathering {
  CollectiveKey key;
  std::string doing;                   // as in an answer
  std::vector<CollectiveKey> hinders;  // those of the others asked for that it keeps who is here from
};

class Engine {
 public:
  struct Handlers {
    // A run has failed, here or elsewhere.
    std::function<void(ProgramRun, const absl::Status&)> on_failed;
    // Somebody has died, or a run has failed because somebody has gone or said nothing in time: to wait for
    // all processes may be to wait for ever. Called with a lock held, perhaps often: must not call back in.
    std::function<void()> on_missed;
    // Every now and then, for those who have deadlines of their own; and how long this process has been
    // stopped since the last time.
    std::function<void(absl::Duration stopped)> on_tick;
    // Called with a lock held: must not call back in.
    std::function<RunStage(ProgramRun)> stage_of;
    // The run's gatherings; asked for are the question's collective and all that gather. Called with a lock
    // held: must not call back in.
    std::function<std::vector<Gathering>(const Question&)> gatherings;
  };

  // `doorbell` is rung when frames arrive, and outlives the engine (a wire's own, or null if no wire rings).
  Engine(const Topology& topology, std::vector<std::unique_ptr<Wire>> wires, Doorbell* doorbell,
         absl::Duration timeout, Handlers handlers);
  // What is still under way fails as cancelled.
  ~Engine();

  // With `stay` the caller makes progress until the exchange has ended, or until nothing has come for a
  // while.
  void Start(ExchangeRequest request, bool stay);
  // Also tells the other processes.
  void Abort(ProgramRun run, const absl::Status& why);
  void ProcessLost(ProcessId process, const absl::Status& why);
  // The caller's thread asks for a run. While there is one such thread, runs have an order.
  void NoteCaller();
  // Nothing more will be started here: the program has ended, by the error `why` if that is not empty. Peers
  // that still wait for this process are told.
  void Leave(absl::string_view why);
  // Whether a peer has not been sent yet what it still wants, for it was too slow to take it.
  bool Owes();
  // Whether a run has failed because somebody has gone, or said nothing in time.
  bool HasMissed() const { return missed_; }
  // Whether somebody has died, or has said nothing in time.
  bool IsBroken() const { return broken_; }
  // How many processes have died or left.
  int GoneCount() const { return gone_; }
  // Not OK once a process is lost; then it names every one that is, in the order in which they were noticed.
  absl::Status Health() const;

 private:
  using Command = absl::AnyInvocable<void()>;
  struct Failure {
    ProgramRun run;
    absl::Status why;
  };
  struct Early {  // an announcement of what has not been started here
    ProcessId from;
    Announcement announcement;
    bool used_up = false;
  };
  // To call, and to let go, once the lock is gone.
  struct Outcome {
    absl::InlinedVector<std::pair<ExchangeRequest::Done, absl::Status>, 1> done;
    absl::InlinedVector<std::unique_ptr<Exchange>, 1> ended;
    std::vector<Failure> failed;
    bool tick = false;
    absl::Duration stopped;  // before it
  };

  // Between the thread that started an exchange, and stays with it for a while, and whoever ends it.
  struct Vigil {
    Vigil(Engine* engine, ExchangeRequest::Done exchange_done)
        : engine(engine), done(std::move(exchange_done)) {}
    void End(const absl::Status& status);
    enum : int { kWaiting, kEnded, kLeft };
    Engine* const engine;
    std::atomic<int> state{kWaiting};
    const int64_t start_ns = absl::GetCurrentTimeNanos();
    ExchangeRequest::Done done;
    absl::Status status;  // written before kEnded
  };
  // On the caller's thread, or on that of whoever owns progress just now: begins an exchange, does something
  // else, or nothing; and then makes one pass.
  void Begin(ExchangeRequest request);
  void Submit(Command command);
  void Look();
  void AfterLook(Outcome outcome);
  // Makes progress until the exchange has ended or nothing has come for as long as patience lasts. `ticket`
  // is of the last look; returns that of this one's.
  uint32_t StayWith(Vigil* vigil, uint32_t ticket);
  // One pass over commands, wires and exchanges. All of these are called by the owner of progress.
  bool ProgressOnce(Outcome* outcome, ExchangeRequest* begins = nullptr);
  bool DrainCommands();
  void Tick(absl::Time now);
  absl::Duration StoppedSinceLastTick(absl::Time now);
  absl::Time WaitsSince(const Exchange& exchange) const;
  void BeginExchange(ExchangeRequest request);
  void OnControl(ProcessId from, absl::Span<const char> bytes);
  void Ask(absl::Time now);
  void OnQuestion(ProcessId from, const Question& question);
  void OnAnswer(ProcessId from, const Answer& answer);
  std::pair<const Exchange*, bool> WhatHinders(ProcessId asker, const Question& question) const;
  void NoteGatherings(const Question& question, Answer* answer);
  void OnHindrance(Hindrance hindrance);
  void CheckRings(ProgramRun run);
  void CheckOrder(ProcessId from, const Answer& answer, absl::Time now);
  void OnGoodbye(ProcessId from, const Goodbye& goodbye);
  void SayGoodbye(absl::string_view why);
  void TellAll(const std::vector<char>& bytes, bool even_if_left = false);
  void OnAnnouncement(ProcessId from, const Announcement& theirs);
  void CheckEarly(Exchange* exchange);
  const Exchange* Oldest() const;
  void TellDone(Exchange* exchange, const absl::Status& status);
  void EndExchange(size_t position, const absl::Status& status);
  void FailRun(ProgramRun run, const absl::Status& why, bool tell_others = true);
  const absl::Status* KnownFailure(ProgramRun run) const;
  absl::Status WhyRefused(const Exchange& exchange) const;
  absl::Status Broken(const Exchange& exchange) const;
  void OnLost(ProcessId peer, const absl::Status& why);
  RunStage StageOf(ProgramRun run) const {
    return handlers_.stage_of ? handlers_.stage_of(run) : RunStage::kNotAskedFor;
  }
  bool CallersHaveOrder() const { return caller_ != 0 && !several_callers_; }

  void Deliver(Outcome outcome);
  void ProgressThread();
  void Idle(uint32_t ticket, bool busy, bool moves_bulk, int* idle_passes);

  const Topology topology_;
  const absl::Duration timeout_;
  const Handlers handlers_;
  Doorbell own_doorbell_;
  Doorbell* const doorbell_;
  int helpers_ = 0;     // workers that may help an exchange: this process's share of the cores, less one
  bool spins_ = false;  // there are cores enough for every process of this host to wait awake

  std::mutex commands_mutex_;
  std::vector<Command> commands_;  // guarded by commands_mutex_
  std::atomic<bool> has_commands_{false};

  // Held by the owner of progress; guards all down to the empty line.
  std::mutex progress_mutex_;
  Transport transport_;
  Diagnosis diagnosis_;
  std::vector<std::unique_ptr<Exchange>> exchanges_;
  size_t next_asker_ = 0;              // among them, if there are so many
  std::vector<absl::Time> last_took_;  // by process: when it is known to have taken messages of ours
  // Of one run there are few, but a peer may be thousands of runs ahead.
  absl::flat_hash_map<ProgramRun, absl::InlinedVector<Early, 1>> early_;
  Hindrances hindrances_;
  std::deque<Failure> failures_;                          // of the last runs that failed
  std::vector<std::pair<ProcessId, absl::Status>> dead_;  // in the order in which they were noticed
  // Of the first run that failed because somebody has gone, or said nothing in time.
  absl::Status first_miss_;
  bool left_ = false;
  Outcome* outcome_ = nullptr;  // of the pass under way
  absl::Time now_;              // when it began
  Announcement heard_;          // the last one
  absl::Time next_tick_ = absl::InfinitePast(), last_tick_ = absl::InfiniteFuture();

  mutable std::mutex health_mutex_;
  absl::Status health_;  // guarded by health_mutex_

  std::atomic<size_t> caller_{0};  // the hash of its id
  std::atomic<bool> several_callers_{false};
  std::atomic<bool> missed_{false}, broken_{false};
  std::atomic<int> gone_{0};
  // Exchanges, and how many of them linger without needing anything but that knocks are heard.
  std::atomic<int> active_{0}, resting_{0};
  // How long the starter of an exchange stays with it while nothing comes.
  int64_t most_patience_ns_ = 0;
  std::atomic<int64_t> patience_ns_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace shoal

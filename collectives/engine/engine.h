// Engine: runs collectives between processes. It owns the transport and the one thread that makes progress
// when nobody else does; whoever starts a collective makes progress too if the thread is not at it just then,
// and who has nothing else to do stays at it while its peers are prompt: waking threads takes longer than a
// small message does.
//
// Thread-safe. Nothing blocks but the destructor. Callbacks come without a lock held, on whatever thread made
// progress.
//
// Failures: a run fails (a message that does not fit, a lost peer, a peer that announces another operation,
// the timeout, an abort) with everything of its communicator and run id, here and, by a notice, in all other
// processes. What is started for a failed run later fails at once with the first cause.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "collectives/engine/flight_recorder.h"
#include "collectives/engine/run.h"
#include "collectives/transport/doorbell.h"
#include "collectives/transport/transport.h"
#include "core/base/topology.h"

namespace shoal {

class Engine {
 public:
  struct Handlers {
    // A run of a communicator has failed, here or elsewhere.
    std::function<void(uint64_t communicator, int64_t run, const absl::Status&)> on_failed;
    // Every now and then, for those who have deadlines of their own.
    std::function<void()> on_tick;
  };

  // `doorbell` is rung when frames arrive, and outlives the engine (a wire's own, or null if no wire rings).
  Engine(const Topology& topology, std::vector<std::unique_ptr<Wire>> wires, Doorbell* doorbell,
         absl::Duration timeout, Handlers handlers);
  // What is still under way fails as cancelled.
  ~Engine();

  // With `stay` the caller makes progress until the run has ended, or until nothing has come for a while.
  void Start(RunRequest request, bool stay);
  // Also tells the other processes.
  void Abort(uint64_t communicator, int64_t run, const absl::Status& why);
  void ProcessLost(ProcessId process, const absl::Status& why);
  // Not OK once a process is lost; then it names every one that is, in the order in which they were noticed.
  absl::Status Health() const;
  bool IsEager(ProcessId peer, int64_t bytes) const { return transport_.IsEager(peer, bytes); }

 private:
  using Command = std::function<void()>;
  struct Failure {
    uint64_t communicator;
    int64_t run;
    absl::Status why;
  };
  struct Early {  // an announcement of what has not been started here
    ProcessId from;
    Announcement announcement;
  };
  // To call once the lock is gone.
  struct Outcome {
    std::vector<std::pair<std::unique_ptr<Run>, absl::Status>> ended;
    std::vector<Failure> failed;
    bool tick = false;
  };

  // Between the thread that started a run, and stays with it for a while, and whoever ends the run.
  struct Vigil {
    enum : int { kWaiting, kEnded, kLeft };
    std::atomic<int> state{kWaiting};
    absl::Status status;  // written before kEnded
  };
  void Submit(Command command);
  void StayWith(Vigil* vigil);
  // One pass over commands, wires and runs. All of these are called by the owner of progress.
  bool ProgressOnce(Outcome* outcome);
  bool DrainCommands();
  void Tick(absl::Time now);
  void BeginRun(RunRequest request);
  void OnControl(ProcessId from, absl::Span<const char> bytes);
  void OnAnnouncement(ProcessId from, const Announcement& announcement);
  void CheckEarly(Run* run);
  void Mismatch(const Announcement& ours, ProcessId from, const Announcement& theirs);
  void FailRun(uint64_t communicator, int64_t run, const absl::Status& why, bool tell_others);
  const absl::Status* KnownFailure(uint64_t communicator, int64_t run) const;
  absl::Status Describe(const Run& run, const absl::Status& why) const;
  absl::Status Missing(const Run& run) const;
  std::string NameOf(ProcessId process) const;

  void Deliver(Outcome outcome);
  void ProgressThread();
  void Idle(uint32_t ticket, bool busy, int* idle_passes);

  const Topology topology_;
  const absl::Duration timeout_;
  const Handlers handlers_;
  Doorbell own_doorbell_;
  Doorbell* const doorbell_;
  int helpers_ = 0;     // workers that may help a run: this process's share of the cores, less one
  bool spins_ = false;  // there are cores enough for every process of this host to wait awake

  std::mutex commands_mutex_;
  std::vector<Command> commands_;  // guarded by commands_mutex_
  std::atomic<bool> has_commands_{false};

  // Held by the owner of progress; guards all down to the empty line.
  std::mutex progress_mutex_;
  Transport transport_;
  FlightRecorder recorder_;
  std::vector<std::unique_ptr<Run>> runs_;
  std::vector<Early> early_;
  std::deque<Failure> failures_;  // of the last runs that failed
  Outcome* outcome_ = nullptr;    // of the pass under way
  absl::Time next_tick_ = absl::InfinitePast();

  mutable std::mutex health_mutex_;
  absl::Status health_;  // guarded by health_mutex_

  std::atomic<int> active_{0};
  // How long the starter of a run stays with it while nothing comes.
  std::atomic<int64_t> patience_ns_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace shoal

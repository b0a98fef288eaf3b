// HealthWatch: a thread that tells, once each, which processes of the job have died. It looks now and then,
// and as soon as a process of this host has ended: under jax.distributed, JAX aborts all others at once when
// the one that has its coordination service dies, and we want to have said why.
//
// A process that left in order is not told of: what it owed the others has been sent, and the engine of the
// collectives tells whoever waits for more. Where the list itself is lost, process 0, which keeps it, has
// died, or its host, with all that runs there; then the watch ends.
#pragma once

#include <atomic>
#include <functional>
#include <set>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/base/topology.h"
#include "launcher/health/attendance.h"

namespace shoal {

class HealthWatch {
 public:
  using OnFailure = std::function<void(ProcessId, absl::Status)>;

  // Calls `on_failure` from its own thread. `attendance` outlives it and is used by it alone.
  HealthWatch(const Topology& topology, Attendance* attendance, absl::Duration interval,
              OnFailure on_failure);
  // Returns after the last call of `on_failure` has.
  ~HealthWatch();

 private:
  void Run();
  void ListLost(const absl::Status& why, std::set<ProcessId>* told);
  // Whether the watch is to end. Waits so long for that, or for the end of a process of this host.
  bool EndsWithin(absl::Duration time);

  const Topology topology_;
  Attendance* const attendance_;
  const absl::Duration interval_;
  const OnFailure on_failure_;
  std::atomic<bool> ending_{false};
  int wake_;                    // an eventfd: written to end the watch
  std::vector<int> processes_;  // pidfds of those of this host that have not ended
  std::thread thread_;
};

// Unavailable: "process 3 (n07, pid 4711) died ...".
absl::Status ProcessDied(const Topology& topology, ProcessId process);

}  // namespace shoal

// HealthWatch: a thread that tells, once each, which processes of the job have died.
//
// A process that left in order is not told of: what it owed the others has been sent, and the engine of the
// collectives tells whoever waits for more. Where the list itself is lost, process 0, which keeps it, has
// died, or its host, with all that runs there; then the watch ends.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

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
  bool EndsWithin(absl::Duration time);

  const Topology topology_;
  Attendance* const attendance_;
  const absl::Duration interval_;
  const OnFailure on_failure_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;  // guarded by mutex_
  std::thread thread_;
};

// Unavailable: "process 3 (pid 4711 on n07) died ...".
absl::Status ProcessDied(const Topology& topology, ProcessId process);

}  // namespace shoal

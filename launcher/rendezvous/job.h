// Job: this process's membership in a job of one or many processes: who the others are, the store that all
// share, and the watch over their health.
//
// Made once by plugin/client when the client is created, and owned by it. Join blocks until every process has
// joined or the deadline passes (an error that names the missing processes and what to do). Thread-safe after
// that.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/ids.h"
#include "core/base/key_value_store.h"
#include "core/base/topology.h"

namespace shoal {

struct JobOptions {
  int num_devices = 1;  // of this process
  // What the caller says of itself, e.g. jax.distributed; absent: found from the environment (mpirun, Slurm,
  // ...).
  std::optional<int> process_id;
  std::optional<int> process_count;
  // The caller's (JAX's callbacks); null: the launcher finds one. Outlives the job.
  KeyValueStore* store = nullptr;
  // HOST:PORT where process 0 may listen, for a caller that gives neither a store nor has a launcher; may be
  // empty.
  std::string coordinator;
  absl::Duration join_timeout = absl::Seconds(120);
};

class Job {
 public:
  // InvalidArgument where the caller and the environment disagree on the number of processes or this one's
  // number.
  static absl::StatusOr<std::unique_ptr<Job>> Join(const JobOptions& options);
  virtual ~Job() = default;

  virtual const Topology& topology() const = 0;
  virtual KeyValueStore* store() = 0;  // null in a job of one process
  // What process 0's clock shows more than this machine's.
  virtual absl::StatusOr<absl::Duration> ClockLead() { return absl::ZeroDuration(); }
  // `on_failure` is called once for each process that is found dead, from the health thread. With null the
  // watch ends, after the last call has returned.
  virtual void WatchHealth(std::function<void(ProcessId, absl::Status)> on_failure) = 0;
};

}  // namespace shoal

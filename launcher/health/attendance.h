// Attendance: who of the job has gone, in order or by death. HealthWatch asks; there is an answer for one
// host (locks on files, at once) and one for several (connections to process 0).
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/ids.h"
#include "launcher/store/host_file.h"
#include "launcher/store/tcp_store.h"

namespace shoal {

struct Departure {
  ProcessId process;
  bool in_order = false;  // it said goodbye
};

class Attendance {
 public:
  // Leaves in order.
  virtual ~Attendance() = default;
  // All who have gone so far, by id, or none where process 0, which keeps the list, does not answer just now:
  // it may be stopped. Unavailable where it has gone, Aborted where its host cannot be reached. Takes a
  // fraction of a second at most. One thread.
  virtual absl::StatusOr<std::vector<Departure>> Departures() = 0;
};

// `file` outlives it and says goodbye itself.
std::unique_ptr<Attendance> AttendHost(const HostFile* file, int process_count);
// `store` outlives it. Every process of the job but process 0 calls this; process 0 keeps the list, so its
// death is the loss of the list.
absl::StatusOr<std::unique_ptr<Attendance>> AttendServer(TcpStore* store, ProcessId self);

}  // namespace shoal

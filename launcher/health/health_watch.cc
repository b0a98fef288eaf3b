#include "launcher/health/health_watch.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"

namespace shoal {

HealthWatch::HealthWatch(const Topology& topology, Attendance* attendance, absl::Duration interval,
                         OnFailure on_failure)
    : topology_(topology), attendance_(attendance), interval_(interval), on_failure_(std::move(on_failure)) {
  thread_ = std::thread([this] { Run(); });
}

HealthWatch::~HealthWatch() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool HealthWatch::EndsWithin(absl::Duration time) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, absl::ToChronoMicroseconds(time), [&] { return ending_; });
}

void HealthWatch::Run() {
  std::set<ProcessId> told;
  while (!EndsWithin(interval_)) {
    const absl::StatusOr<std::vector<Departure>> departures = attendance_->Departures();
    if (EndsWithin(absl::ZeroDuration())) return;
    if (!departures.ok()) {
      SHOAL_LOG_AT(1) << "the list of processes is lost: " << departures.status().message();
      if (told.insert(ProcessId(0)).second) on_failure_(ProcessId(0), ProcessDied(topology_, ProcessId(0)));
      return;
    }
    for (const Departure& departure : *departures) {
      if (departure.process == topology_.self || !told.insert(departure.process).second) continue;
      if (departure.in_order) {
        SHOAL_LOG_AT(1) << "process " << departure.process << " has left the job";
      } else {
        on_failure_(departure.process, ProcessDied(topology_, departure.process));
      }
    }
  }
}

absl::Status ProcessDied(const Topology& topology, ProcessId process) {
  const ProcessInfo& info = topology.process(process);
  const bool here = topology.SameHost(process, topology.self);
  return absl::UnavailableError(
      absl::StrCat("process ", process.value(), " (pid ", info.pid, " on ", info.host_name, ") died",
                   here ? "" : ", or its host cannot be reached", ": it ended without leaving the job"));
}

}  // namespace shoal

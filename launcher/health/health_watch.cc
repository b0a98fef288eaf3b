#include "launcher/health/health_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/process_name.h"

namespace shoal {

HealthWatch::HealthWatch(const Topology& topology, Attendance* attendance, absl::Duration interval,
                         OnFailure on_failure)
    : topology_(topology), attendance_(attendance), interval_(interval), on_failure_(std::move(on_failure)) {
  wake_ = eventfd(0, EFD_CLOEXEC);
  for (int p = 0; p < topology_.process_count(); ++p) {
    if (ProcessId(p) == topology_.self || !topology_.SameHost(ProcessId(p), topology_.self)) continue;
    const int file = static_cast<int>(syscall(SYS_pidfd_open, topology_.process(ProcessId(p)).pid, 0));
    if (file >= 0) processes_.push_back(file);
  }
  thread_ = std::thread([this] { Run(); });
}

HealthWatch::~HealthWatch() {
  ending_ = true;
  eventfd_write(wake_, 1);
  thread_.join();
  close(wake_);
  for (const int file : processes_) close(file);
}

bool HealthWatch::EndsWithin(absl::Duration time) {
  std::vector<pollfd> entries = {{wake_, POLLIN, 0}};
  for (const int file : processes_) entries.push_back({file, POLLIN, 0});
  poll(entries.data(), entries.size(), static_cast<int>(absl::ToInt64Milliseconds(time)));
  for (size_t i = entries.size() - 1; i > 0; --i) {
    if (entries[i].revents == 0) continue;
    close(entries[i].fd);
    processes_.erase(processes_.begin() + static_cast<std::ptrdiff_t>(i) - 1);
  }
  return ending_;
}

void HealthWatch::Run() {
  std::set<ProcessId> told;
  while (!EndsWithin(interval_)) {
    const absl::StatusOr<std::vector<Departure>> departures = attendance_->Departures();
    if (EndsWithin(absl::ZeroDuration())) return;
    if (!departures.ok()) return ListLost(departures.status(), &told);
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

void HealthWatch::ListLost(const absl::Status& why, std::set<ProcessId>* told) {
  SHOAL_LOG_AT(1) << "the list of processes is lost: " << why.message();
  const bool host = absl::IsAborted(why);
  for (int p = 0; p < topology_.process_count(); ++p) {
    const ProcessId process(p);
    const bool lost = p == 0 || (host && topology_.SameHost(process, ProcessId(0)));
    if (!lost || process == topology_.self || !told->insert(process).second) continue;
    on_failure_(process, ProcessDied(topology_, process));
  }
}

absl::Status ProcessDied(const Topology& topology, ProcessId process) {
  const bool here = topology.SameHost(process, topology.self);
  return absl::UnavailableError(absl::StrCat(ProcessName(topology, process), " died",
                                             here ? "" : ", or its host cannot be reached",
                                             ": it ended without leaving the job"));
}

}  // namespace shoal

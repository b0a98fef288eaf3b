// PjRtClient::Create from options, apart from client.cc: only this file needs the launcher's and the
// collectives' code.
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/flags.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/base/timeline.h"
#include "plugin/client/client.h"
#include "plugin/lapack/call.h"

namespace shoal {
namespace {

absl::StatusOr<int64_t> DeviceMemoryLimit() {
  SHOAL_ASSIGN_OR_RETURN(int64_t limit, IntFlag("SHOAL_MEMORY_LIMIT"));
  return limit > 0 ? limit : MachineMemoryBytes();
}

// More is a slip of the pen: it would exhaust the machine, or wrap around in an int, before anything says so.
constexpr int64_t kMostDevices = 4096;

absl::StatusOr<JobOptions> JobOptionsOf(const PjRtClientOptions& options) {
  JobOptions job;
  SHOAL_ASSIGN_OR_RETURN(int64_t num_devices, IntFlag("SHOAL_NUM_DEVICES"));
  if (options.num_devices.has_value()) num_devices = *options.num_devices;
  if (num_devices < 1 || num_devices > kMostDevices) {
    return absl::InvalidArgumentError(absl::StrCat("a process needs at least one device and at most ",
                                                   kMostDevices, ", ", num_devices, " were asked for"));
  }
  job.num_devices = static_cast<int>(num_devices);
  job.process_id = options.process_id;
  job.process_count = options.process_count;
  job.store = options.store.get();
  job.coordinator = options.coordinator;
  // Who waits less for a collective does not wait longer for the start.
  SHOAL_ASSIGN_OR_RETURN(int64_t timeout, IntFlag("SHOAL_TIMEOUT_S"));
  job.join_timeout = std::min(job.join_timeout, absl::Seconds(timeout));
  return job;
}

}  // namespace

int64_t MachineMemoryBytes() {
  int64_t bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream file(path);
    int64_t limit;  // "max" does not parse, and means none
    if (file >> limit && limit > 0) bytes = std::min(bytes, limit);
  }
  return bytes;
}

absl::StatusOr<std::unique_ptr<PjRtClient>> PjRtClient::Create(PjRtClientOptions options) {
  SHOAL_RETURN_IF_ERROR(CheckFlags());
  for (const std::string& name : UnknownFlags()) {
    SHOAL_WARN << name << " is no flag of Shoal; it is ignored";
  }
  ServeLapack();
  SHOAL_ASSIGN_OR_RETURN(int64_t memory_limit, DeviceMemoryLimit());
  SHOAL_ASSIGN_OR_RETURN(JobOptions job_options, JobOptionsOf(options));
  SHOAL_ASSIGN_OR_RETURN(CollectiveOptions collective_options, CollectiveOptions::FromFlags());
  SHOAL_ASSIGN_OR_RETURN(std::unique_ptr<Job> job, Job::Join(job_options));
  SetLogProcess(job->topology().self.value());
  SHOAL_ASSIGN_OR_RETURN(auto world,
                         CollectiveWorld::Create(job->topology(), job->store(), collective_options));
  auto client = Create(std::move(options.compiler), std::move(options.store), std::move(job),
                       std::move(world), memory_limit);
  client->zero_copy_host_buffers_ = options.zero_copy_host_buffers;
  if (Timeline* const timeline = Timeline::Get()) {
    SHOAL_ASSIGN_OR_RETURN(const absl::Duration lead, client->job_->ClockLead());
    timeline->SetPlace(client->job_->topology(), lead);
  }
  client->job_->WatchHealth([world = client->world_.get()](ProcessId process, absl::Status why) {
    SHOAL_WARN << why.message();
    world->ProcessFailed(process, why);
  });
  return client;
}

}  // namespace shoal

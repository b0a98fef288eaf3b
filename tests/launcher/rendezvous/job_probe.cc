// job_probe SECONDS [VICTIM]: joins the job of its environment and tells, as one JSON line
// (tests/distributed/jobs.py), the host of each process and who was found dead within SECONDS. Process VICTIM
// kills itself once all are there.
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <future>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "launcher/rendezvous/job.h"

int main(int argc, char** argv) {
  using namespace shoal;
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  const int victim = argc > 2 ? std::atoi(argv[2]) : -1;
  JobOptions options;
  options.join_timeout = absl::Seconds(20);
  auto job = Job::Join(options);
  if (!job.ok()) {
    std::fprintf(stderr, "%s\n", job.status().ToString().c_str());
    return 1;
  }
  const Topology& topology = (*job)->topology();
  std::string death;
  std::promise<void> told;
  (*job)->WatchHealth([&](ProcessId process, const absl::Status& why) {
    if (!death.empty()) return;
    death = why.ToString();
    told.set_value();
  });
  (void)(*job)->store()->Set(absl::StrCat("watching/", topology.self.value()), "");
  for (int p = 0; p < topology.process_count(); ++p) {
    (void)(*job)->store()->Get(absl::StrCat("watching/", p), absl::Seconds(20));
  }
  std::printf("READY\n");
  std::fflush(stdout);
  if (topology.self.value() == victim) raise(SIGKILL);
  const bool died =
      told.get_future().wait_for(std::chrono::duration<double>(seconds)) == std::future_status::ready;
  const std::string hosts = absl::StrJoin(
      topology.processes, ",",
      [](std::string* out, const ProcessInfo& process) { absl::StrAppend(out, process.host.value()); });
  std::printf("TOLD {\"process\": %d, \"value\": {\"hosts\": [%s], \"death\": \"%s\"}}\n",
              topology.self.value(), hosts.c_str(), died ? death.c_str() : "");
  return 0;
}

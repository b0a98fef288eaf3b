// A job of one process or of several that do not exist, for tests that make a client from its parts.
#pragma once

#include <memory>
#include <utility>

#include "launcher/rendezvous/job.h"

namespace shoal {

class FakeJob : public Job {
 public:
  FakeJob(int process, int processes, int devices_each) {
    topology_.self = ProcessId(process);
    topology_.job = "fake";
    for (int p = 0; p < processes; ++p) {
      ProcessInfo info;
      info.num_devices = devices_each;
      info.first_device = DeviceId(p * devices_each);
      topology_.processes.push_back(info);
    }
  }
  const Topology& topology() const override { return topology_; }
  KeyValueStore* store() override { return nullptr; }
  void WatchHealth(std::function<void(ProcessId, absl::Status)>) override {}

 private:
  Topology topology_;
};

}  // namespace shoal

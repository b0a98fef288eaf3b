// Topology: which processes the job has, on which hosts, with which devices. A value, the same in every
// process but for `self`; made once by launcher/rendezvous and never changed.
#pragma once

#include <string>
#include <vector>

#include "core/base/ids.h"

namespace shoal {

struct ProcessInfo {
  HostId host;
  std::string host_name;  // for messages
  int pid = 0;
  int num_devices = 1;
  DeviceId first_device;  // its devices are first_device, first_device + 1, ...
};

struct Topology {
  ProcessId self;
  std::vector<ProcessInfo> processes;  // by ProcessId
  std::string job;                     // a name that no other job on these hosts has at this time

  int process_count() const { return static_cast<int>(processes.size()); }
  int device_count() const {
    return processes.empty() ? 0 : processes.back().first_device.value() + processes.back().num_devices;
  }
  const ProcessInfo& process(ProcessId id) const { return processes[id.value()]; }
  // REQUIRES: 0 <= device < device_count().
  ProcessId ProcessOf(DeviceId device) const {
    int p = process_count() - 1;
    while (processes[p].first_device > device) --p;
    return ProcessId(p);
  }
  bool SameHost(ProcessId a, ProcessId b) const { return process(a).host == process(b).host; }
};

}  // namespace shoal

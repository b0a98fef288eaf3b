// What a process of the job is called wherever people read of it: in errors, log lines and traces.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "core/base/topology.h"

namespace shoal {

// "process 3 (n07, pid 4711)"
std::string ProcessName(ProcessId process, absl::string_view host_name, int pid);
std::string ProcessName(const Topology& topology, ProcessId process);

}  // namespace shoal

#include "core/base/process_name.h"

#include "absl/strings/str_cat.h"

namespace shoal {

std::string ProcessName(ProcessId process, absl::string_view host_name, int pid) {
  return absl::StrCat("process ", process.value(), " (", host_name, ", pid ", pid, ")");
}

std::string ProcessName(const Topology& topology, ProcessId process) {
  const ProcessInfo& info = topology.process(process);
  return ProcessName(process, info.host_name, info.pid);
}

}  // namespace shoal

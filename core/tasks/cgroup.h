// The CPU quota that control groups (v1 and v2) leave a process, in cores.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace shoal {

// The least quota, rounded up, on the way from this process's group to the root; none if nothing limits it.
// `proc_self_cgroup` is the text of /proc/self/cgroup, `mount` where groups are mounted (/sys/fs/cgroup).
std::optional<int> CgroupCores(absl::string_view proc_self_cgroup, const std::string& mount);

}  // namespace shoal

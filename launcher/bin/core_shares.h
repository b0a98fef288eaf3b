// Core shares: which cores each process of one host is bound to.
//
// A pure function of the machine. Shares are neighbours, whole cores (with all their hardware threads) as
// long as there is one for each process, and differ by one core at most.
#pragma once

#include <string>
#include <vector>

namespace shoal {

struct Core {
  int cpu = 0;  // the system's number of the hardware thread
  int package = 0;
  int core = 0;  // within the package
  friend bool operator==(const Core&, const Core&) = default;
};

// The hardware threads that this process may use, of the system's /sys (`root` is its directory cpu).
std::vector<Core> AllowedCores(const std::string& root = "/sys/devices/system/cpu");

// For each process the numbers of its hardware threads. Empty where there are fewer of them than processes:
// they then share all, as the system sees fit.
std::vector<std::vector<int>> ShareCores(std::vector<Core> cores, int processes);

}  // namespace shoal

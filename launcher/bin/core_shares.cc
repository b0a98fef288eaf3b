#include "launcher/bin/core_shares.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <tuple>

namespace shoal {
namespace {

int NumberIn(const std::string& path, int otherwise) {
  int number;
  return std::ifstream(path) >> number ? number : otherwise;
}

bool SameCore(const Core& a, const Core& b) { return a.package == b.package && a.core == b.core; }

}  // namespace

std::vector<Core> AllowedCores(const std::string& root) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return {};
  std::vector<Core> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    const std::string topology = root + "/cpu" + std::to_string(cpu) + "/topology/";
    cores.push_back(
        {cpu, NumberIn(topology + "physical_package_id", 0), NumberIn(topology + "core_id", cpu)});
  }
  return cores;
}

std::vector<std::vector<int>> ShareCores(std::vector<Core> cores, int processes) {
  if (static_cast<int>(cores.size()) < processes) return {};
  std::sort(cores.begin(), cores.end(), [](const Core& a, const Core& b) {
    return std::tie(a.package, a.core, a.cpu) < std::tie(b.package, b.core, b.cpu);
  });
  std::vector<std::vector<int>> units;  // that stay together
  for (size_t i = 0; i < cores.size(); ++i) {
    if (i == 0 || !SameCore(cores[i - 1], cores[i])) units.emplace_back();
    units.back().push_back(cores[i].cpu);
  }
  if (static_cast<int>(units.size()) < processes) {
    units.clear();
    for (const Core& core : cores) units.push_back({core.cpu});
  }
  const size_t count = units.size();
  std::vector<std::vector<int>> shares(processes);
  for (size_t u = 0; u < count; ++u) {
    std::vector<int>& share = shares[u * processes / count];
    share.insert(share.end(), units[u].begin(), units[u].end());
  }
  return shares;
}

}  // namespace shoal

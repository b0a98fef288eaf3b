#include "core/tasks/cgroup.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace shoal {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::optional<int> CoresOf(absl::string_view quota_text, absl::string_view period_text) {
  int64_t quota = 0, period = 0;  // microseconds; v1 writes -1 and v2 "max" for no limit
  if (!absl::SimpleAtoi(quota_text, &quota) || !absl::SimpleAtoi(period_text, &period)) return std::nullopt;
  if (quota <= 0 || period <= 0) return std::nullopt;
  return static_cast<int>(std::max<int64_t>(1, (quota + period - 1) / period));
}

std::optional<int> QuotaOfFolder(const std::string& folder, bool v2) {
  if (!v2) {
    return CoresOf(ReadFile(absl::StrCat(folder, "/cpu.cfs_quota_us")),
                   ReadFile(absl::StrCat(folder, "/cpu.cfs_period_us")));
  }
  const std::string text = ReadFile(absl::StrCat(folder, "/cpu.max"));  // "150000 100000" or "max 100000"
  const std::vector<std::string> words = absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  return words.size() == 2 ? CoresOf(words[0], words[1]) : std::nullopt;
}

// Inside a container the group's path may not exist below the mount; its parents then tell what they can.
std::optional<int> LeastQuota(const std::string& root, std::string path, bool v2) {
  std::optional<int> least;
  while (true) {
    const std::optional<int> here = QuotaOfFolder(absl::StrCat(root, path), v2);
    if (here.has_value()) least = std::min(*here, least.value_or(*here));
    const size_t slash = path.rfind('/');
    if (path.empty() || slash == std::string::npos) return least;
    path.resize(slash);
  }
}

}  // namespace

std::optional<int> CgroupCores(absl::string_view proc_self_cgroup, const std::string& mount) {
  std::optional<int> least;
  for (absl::string_view line : absl::StrSplit(proc_self_cgroup, '\n', absl::SkipEmpty())) {
    // "hierarchy:controllers:path"; v2 has hierarchy 0 and no controllers.
    const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    const std::vector<std::string> controllers = absl::StrSplit(fields[1], ',');
    const bool v2 = fields[1].empty();
    if (!v2 && std::find(controllers.begin(), controllers.end(), "cpu") == controllers.end()) continue;
    const std::string path = fields[2] == "/" ? "" : fields[2];
    const auto here = LeastQuota(v2 ? mount : absl::StrCat(mount, "/cpu"), path, v2);
    if (here.has_value()) least = std::min(*here, least.value_or(*here));
  }
  return least;
}

}  // namespace shoal

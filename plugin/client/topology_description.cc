#include "plugin/client/topology_description.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/fingerprint.h"

namespace shoal {
namespace {

constexpr absl::string_view kHeader = "shoal-topology 1\n";
// Far above any cluster; only keeps a corrupt text from asking for all memory.
constexpr int64_t kMostDevices = 1 << 20;

void AddProcess(PjRtTopologyDescription& description, int process, int num_devices) {
  for (int i = 0; i < num_devices; ++i) {
    DeviceId id(static_cast<int32_t>(description.devices.size()));
    description.devices.push_back(PjRtDeviceDescription::Of(id, ProcessId(process)));
  }
}

}  // namespace

absl::string_view PlatformVersion() { return "shoal 0.1.0"; }

PjRtTopologyDescription PjRtTopologyDescription::Of(const Topology& topology) {
  PjRtTopologyDescription description;
  description.platform_version = std::string(PlatformVersion());
  for (int p = 0; p < topology.process_count(); ++p)
    AddProcess(description, p, topology.processes[p].num_devices);
  return description;
}

std::string PjRtTopologyDescription::Serialize() const {
  std::vector<int> counts;
  for (const PjRtDeviceDescription& device : devices) {
    counts.resize(std::max<size_t>(counts.size(), device.process.value() + 1));
    ++counts[device.process.value()];
  }
  std::string text(kHeader);
  for (size_t i = 0; i < counts.size(); ++i) absl::StrAppend(&text, i == 0 ? "" : " ", counts[i]);
  return absl::StrCat(text, "\n");
}

absl::StatusOr<PjRtTopologyDescription> PjRtTopologyDescription::Deserialize(absl::string_view text) {
  if (text.substr(0, kHeader.size()) != kHeader) {
    return absl::InvalidArgumentError("a serialized topology must begin with \"shoal-topology 1\"");
  }
  PjRtTopologyDescription description;
  description.platform_version = std::string(PlatformVersion());
  int process = 0;
  for (absl::string_view word :
       absl::StrSplit(text.substr(kHeader.size()), absl::ByAnyChar(" \n"), absl::SkipEmpty())) {
    int count;
    if (!absl::SimpleAtoi(word, &count) || count < 0 ||
        count > kMostDevices - static_cast<int64_t>(description.devices.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat("serialized topology: \"", word, "\" is no number of devices"));
    }
    AddProcess(description, process++, count);
  }
  return description;
}

uint64_t PjRtTopologyDescription::Fingerprint() const {
  return shoal::Fingerprint(absl::StrCat(platform_version, "\n", Serialize()));
}

}  // namespace shoal

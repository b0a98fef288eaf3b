// PjRtTopologyDescription: which devices a client sees, as a value that can be written down, sent and
// compared.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/topology.h"
#include "plugin/client/device.h"

namespace shoal {

struct PjRtTopologyDescription {
  std::string platform_name = "cpu";
  std::string platform_version;
  std::vector<PjRtDeviceDescription> devices;

  static PjRtTopologyDescription Of(const Topology& topology);
  // "shoal-topology 1\n<devices of process 0> <of process 1> ...\n"
  std::string Serialize() const;
  static absl::StatusOr<PjRtTopologyDescription> Deserialize(absl::string_view text);
  // Depends on devices and the program's version, not on the process that asks.
  uint64_t Fingerprint() const;
};

// "shoal 0.1.0"
absl::string_view PlatformVersion();

}  // namespace shoal

#include "plugin/client/device.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace shoal {

PjRtDeviceDescription PjRtDeviceDescription::Of(DeviceId id, ProcessId process) {
  PjRtDeviceDescription description{.id = id, .process = process};
  description.debug_string = absl::StrCat("cpu:", id.value());
  description.to_string = absl::StrCat("CpuDevice(id=", id.value(), ")");
  return description;
}

PjRtMemorySpace::PjRtMemorySpace(int id, int kind_id, PjRtDevice* device)
    : id_(id), kind_id_(kind_id), device_(device) {
  constexpr absl::string_view kDebugNames[] = {"CPU_DEVICE_", "PINNED_HOST_", "UNPINNED_HOST_"};
  constexpr absl::string_view kNames[] = {"CpuDeviceMemory", "PinnedHostMemory", "UnpinnedHostMemorySpace"};
  debug_string_ = absl::StrCat(kDebugNames[kind_id], id);
  to_string_ = absl::StrCat(kNames[kind_id], "(id=", id,
                            ", process_index=", device->description().process.value(), ", client=cpu)");
}

PjRtDevice::PjRtDevice(PjRtClient* client, PjRtDeviceDescription description, int local_ordinal,
                       int64_t memory_limit)
    : client_(client), description_(std::move(description)), local_ordinal_(local_ordinal) {
  if (!IsAddressable()) return;
  allocator_ = std::make_shared<Allocator>(description_.debug_string, memory_limit);
  for (int kind = 0; kind < kNumMemoryKinds; ++kind) {
    int space_id = description_.id.value() * kNumMemoryKinds + kind;
    owned_spaces_.push_back(std::make_unique<PjRtMemorySpace>(space_id, kind, this));
    spaces_.push_back(owned_spaces_.back().get());
  }
}

}  // namespace shoal

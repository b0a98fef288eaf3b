#include "plugin/client/device_memory.h"

#include <utility>

#include "core/base/status.h"

namespace shoal {

absl::StatusOr<std::shared_ptr<DeviceMemory>> DeviceMemory::Allocate(std::shared_ptr<Allocator> allocator,
                                                                     int64_t bytes, absl::string_view label) {
  SHOAL_ASSIGN_OR_RETURN(void* data, allocator->Allocate(bytes, label));
  return std::make_shared<DeviceMemory>(data, bytes, std::move(allocator));
}

std::shared_ptr<DeviceMemory> DeviceMemory::View(void* data, int64_t bytes, bool writable,
                                                 std::function<void()> on_release) {
  return std::make_shared<DeviceMemory>(data, bytes, writable, std::move(on_release));
}

DeviceMemory::~DeviceMemory() {
  if (allocator_ != nullptr) allocator_->Free(data_);
  if (on_release_) on_release_();
}

}  // namespace shoal

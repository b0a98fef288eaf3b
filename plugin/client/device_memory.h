// DeviceMemory: one block of a device's memory, shared by the buffer that shows it, the runs that use it and
// whoever holds an external view. It goes back to where it came from when the last of them lets go. Immutable
// handle; its contents are guarded by the futures of the buffers that show it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/memory/allocator.h"

namespace shoal {

class DeviceMemory {
 public:
  // `label` names the block in out-of-memory reports.
  static absl::StatusOr<std::shared_ptr<DeviceMemory>> Allocate(std::shared_ptr<Allocator> allocator,
                                                                int64_t bytes, absl::string_view label);
  // Somebody else's memory, `on_release` (may be null) tells them that we are done. Not `writable`: it is
  // never donated.
  static std::shared_ptr<DeviceMemory> View(void* data, int64_t bytes, bool writable,
                                            std::function<void()> on_release);

  DeviceMemory(void* data, int64_t bytes, std::shared_ptr<Allocator> allocator)
      : data_(data), bytes_(bytes), allocator_(std::move(allocator)) {}
  DeviceMemory(void* data, int64_t bytes, bool writable, std::function<void()> on_release)
      : data_(data), bytes_(bytes), writable_(writable), on_release_(std::move(on_release)) {}
  DeviceMemory(const DeviceMemory&) = delete;
  ~DeviceMemory();

  char* data() const { return static_cast<char*>(data_); }
  int64_t bytes() const { return bytes_; }
  bool writable() const { return writable_; }

 private:
  void* data_;
  int64_t bytes_;
  bool writable_ = true;
  // Null for a view. Shared, because what is left of a run may end after its client.
  std::shared_ptr<Allocator> allocator_;
  std::function<void()> on_release_;
};

}  // namespace shoal

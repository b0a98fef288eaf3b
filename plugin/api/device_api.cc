// PJRT_Device and PJRT_DeviceDescription.
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "plugin/api/handles.h"

struct PJRT_AsyncTrackingEvent {};

namespace shoal {
namespace {

absl::Status DescriptionId(PJRT_DeviceDescription_Id_Args& args) {
  args.id = args.device_description->description.id.value();
  return absl::OkStatus();
}

absl::Status DescriptionProcessIndex(PJRT_DeviceDescription_ProcessIndex_Args& args) {
  args.process_index = args.device_description->description.process.value();
  return absl::OkStatus();
}

absl::Status DescriptionAttributes(PJRT_DeviceDescription_Attributes_Args& args) {
  args.attributes = nullptr;
  args.num_attributes = 0;
  return absl::OkStatus();
}

absl::Status DescriptionKind(PJRT_DeviceDescription_Kind_Args& args) {
  const std::string& kind = args.device_description->description.device_kind;
  args.device_kind = kind.data();
  args.device_kind_size = kind.size();
  return absl::OkStatus();
}

absl::Status DescriptionDebugString(PJRT_DeviceDescription_DebugString_Args& args) {
  const std::string& text = args.device_description->description.debug_string;
  args.debug_string = text.data();
  args.debug_string_size = text.size();
  return absl::OkStatus();
}

absl::Status DescriptionToString(PJRT_DeviceDescription_ToString_Args& args) {
  const std::string& text = args.device_description->description.to_string;
  args.to_string = text.data();
  args.to_string_size = text.size();
  return absl::OkStatus();
}

absl::Status GetDescription(PJRT_Device_GetDescription_Args& args) {
  args.device_description = args.device->description;
  return absl::OkStatus();
}

absl::Status IsAddressable(PJRT_Device_IsAddressable_Args& args) {
  args.is_addressable = args.device->device->IsAddressable();
  return absl::OkStatus();
}

absl::Status LocalHardwareId(PJRT_Device_LocalHardwareId_Args& args) {
  args.local_hardware_id = args.device->device->local_hardware_id();
  return absl::OkStatus();
}

absl::Status CheckAddressable(const PJRT_Device* device, absl::string_view what) {
  if (device->device->IsAddressable()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(what, " of ", device->device->description().debug_string,
                                                    ", which belongs to process ",
                                                    device->device->description().process.value()));
}

absl::Status AddressableMemories(PJRT_Device_AddressableMemories_Args& args) {
  args.memories = args.device->memories.data();
  args.num_memories = args.device->memories.size();
  return absl::OkStatus();
}

absl::Status DefaultMemory(PJRT_Device_DefaultMemory_Args& args) {
  SHOAL_RETURN_IF_ERROR(CheckAddressable(args.device, "the memory"));
  args.memory = args.device->memories[0];
  return absl::OkStatus();
}

absl::Status StatsOf(PJRT_Device_MemoryStats_Args& args) {
  SHOAL_RETURN_IF_ERROR(CheckAddressable(args.device, "memory statistics"));
  const MemoryStats stats = args.device->device->allocator()->Stats();
  args.bytes_in_use = stats.bytes_in_use;
  args.peak_bytes_in_use = stats.peak_bytes_in_use;
  args.num_allocs = stats.allocations;
  args.largest_alloc_size = stats.largest_allocation;
  args.bytes_limit = stats.bytes_limit;
  // Where all devices of the process want as much.
  args.bytes_reservable_limit =
      stats.bytes_limit / static_cast<int64_t>(args.device->device->client()->addressable_devices().size());
  args.pool_bytes = stats.bytes_in_use + stats.bytes_cached;
  args.peak_bytes_in_use_is_set = args.num_allocs_is_set = args.largest_alloc_size_is_set = true;
  args.bytes_limit_is_set = args.bytes_reservable_limit_is_set = args.pool_bytes_is_set = true;
  args.bytes_reserved_is_set = args.peak_bytes_reserved_is_set = false;
  args.largest_free_block_bytes_is_set = args.peak_pool_bytes_is_set = false;
  if (SHOAL_HAS_FIELD(args, peak_allocated_bytes_is_set)) args.peak_allocated_bytes_is_set = false;
  return absl::OkStatus();
}

absl::Status GetAttributes(PJRT_Device_GetAttributes_Args& args) {
  args.attributes = nullptr;
  args.num_attributes = 0;
  args.device_attributes = nullptr;
  args.attributes_deleter = [](PJRT_Device_Attributes*) {};
  return absl::OkStatus();
}

// Marks for XLA's profiler while something is under way; SHOAL_TIMELINE needs none.
absl::Status CreateAsyncTrackingEvent(PJRT_Device_CreateAsyncTrackingEvent_Args& args) {
  args.event = new PJRT_AsyncTrackingEvent;
  return absl::OkStatus();
}

absl::Status DestroyAsyncTrackingEvent(PJRT_AsyncTrackingEvent_Destroy_Args& args) {
  delete args.event;
  return absl::OkStatus();
}

}  // namespace

void BindDevice(PJRT_Api& api) {
  SHOAL_BIND(api, DeviceDescription_Id, DescriptionId);
  SHOAL_BIND(api, DeviceDescription_ProcessIndex, DescriptionProcessIndex);
  SHOAL_BIND(api, DeviceDescription_Attributes, DescriptionAttributes);
  SHOAL_BIND(api, DeviceDescription_Kind, DescriptionKind);
  SHOAL_BIND(api, DeviceDescription_DebugString, DescriptionDebugString);
  SHOAL_BIND(api, DeviceDescription_ToString, DescriptionToString);
  SHOAL_BIND(api, Device_GetDescription, GetDescription);
  SHOAL_BIND(api, Device_IsAddressable, IsAddressable);
  SHOAL_BIND(api, Device_LocalHardwareId, LocalHardwareId);
  SHOAL_BIND(api, Device_AddressableMemories, AddressableMemories);
  SHOAL_BIND(api, Device_DefaultMemory, DefaultMemory);
  SHOAL_BIND(api, Device_MemoryStats, StatsOf);
  SHOAL_BIND(api, Device_GetAttributes, GetAttributes);
  SHOAL_BIND(api, Device_CreateAsyncTrackingEvent, CreateAsyncTrackingEvent);
  SHOAL_BIND(api, AsyncTrackingEvent_Destroy, DestroyAsyncTrackingEvent);
}

}  // namespace shoal

#include "plugin/api/handles.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "plugin/api/shapes.h"

PJRT_TopologyDescription::PJRT_TopologyDescription(shoal::PjRtTopologyDescription description)
    : value(std::move(description)) {
  for (const shoal::PjRtDeviceDescription& device : value.devices) {
    owned.push_back(std::make_unique<PJRT_DeviceDescription>(PJRT_DeviceDescription{device}));
    devices.push_back(owned.back().get());
  }
}

PJRT_Client::PJRT_Client(std::unique_ptr<shoal::PjRtClient> made)
    : client(std::move(made)), topology(std::make_unique<PJRT_TopologyDescription>(client->topology())) {
  for (shoal::PjRtDevice* device : client->devices()) {
    auto* handle = new PJRT_Device{device, this, topology->devices[device->id().value()], {}};
    devices.push_back(handle);
    if (!device->IsAddressable()) continue;
    addressable_devices.push_back(handle);
    for (shoal::PjRtMemorySpace* space : device->memory_spaces()) {
      handle->memories.push_back(new shoal::MemoryHandle(space, handle));
      memories.push_back(handle->memories.back());
    }
  }
}

PJRT_Client::~PJRT_Client() {
  for (PJRT_Memory* memory : memories) delete shoal::Handle(memory);
  for (PJRT_Device* device : devices) delete device;
}

PJRT_Executable::PJRT_Executable(std::shared_ptr<const shoal::PjRtExecutable> made)
    : executable(std::move(made)) {
  const shoal::CompiledModule& compiled = executable->compiled;
  fingerprint = absl::StrFormat("%016x", compiled.fingerprint);
  for (const shoal::CompiledArray& array : compiled.parameters) {
    parameter_kinds.Add(array.memory_kind);
    parameter_shardings.Add(array.op_sharding);
    parameter_layouts.push_back(
        new PJRT_Layouts_MemoryLayout{shoal::LayoutText(array.local, array.minor_to_major)});
  }
  for (const shoal::CompiledArray& array : compiled.results) {
    output_kinds.Add(array.memory_kind);
    output_shardings.Add(array.op_sharding);
    output_types.push_back(shoal::BufferTypeOf(array.local.element_type()));
    output_dims.insert(output_dims.end(), array.local.dims().begin(), array.local.dims().end());
    output_ranks.push_back(array.local.rank());
    output_layouts.push_back(
        new PJRT_Layouts_MemoryLayout{shoal::LayoutText(array.local, array.minor_to_major)});
  }
  auto cost = [&](absl::string_view name, double value) {
    PJRT_NamedValue named = {.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                             .extension_start = nullptr,
                             .name = name.data(),
                             .name_size = name.size(),
                             .type = PJRT_NamedValue_kFloat};
    named.float_value = static_cast<float>(value);
    named.value_size = 1;
    costs.push_back(named);
  };
  cost("flops", compiled.stats.flops);
  cost("transcendentals", compiled.stats.transcendentals);
  cost("bytes accessed", compiled.stats.bytes_accessed);
}

PJRT_Executable::~PJRT_Executable() {
  for (PJRT_Layouts_MemoryLayout* layout : parameter_layouts) delete layout;
  for (PJRT_Layouts_MemoryLayout* layout : output_layouts) delete layout;
}

PJRT_LoadedExecutable::PJRT_LoadedExecutable(std::unique_ptr<shoal::PjRtLoadedExecutable> made,
                                             PJRT_Client* client)
    : executable(std::move(made)), client(client) {
  fingerprint = absl::StrFormat("%016x", executable->executable()->compiled.fingerprint);
  for (shoal::PjRtDevice* device : executable->addressable_devices()) devices.push_back(client->Of(device));
  for (const auto& id : executable->addressable_device_logical_ids())
    logical_ids.push_back({id.replica, id.partition});
}

namespace shoal {
namespace {

void* GetUserData(PJRT_Memory* memory, const void* key) {
  MemoryHandle* handle = Handle(memory);
  std::lock_guard<std::mutex> lock(handle->mutex);
  auto it = handle->user_data.find(key);
  return it == handle->user_data.end() ? nullptr : it->second.data;
}

void SetUserData(PJRT_Memory* memory, const void* key, void* data, void (*deleter)(void*)) {
  MemoryHandle* handle = Handle(memory);
  MemoryHandle::UserData old = {data, deleter};
  {
    std::lock_guard<std::mutex> lock(handle->mutex);
    auto [it, added] = handle->user_data.try_emplace(key, old);
    if (added) return;
    std::swap(it->second, old);
  }
  if (old.deleter != nullptr) old.deleter(old.data);
}

constexpr PJRT_Memory_FunctionTable kMemoryFunctions = {
    .struct_size = PJRT_Memory_FunctionTable_STRUCT_SIZE,
    .extension_start = nullptr,
    .instance_struct_size = PJRT_Memory_STRUCT_SIZE,
    .get_user_data = GetUserData,
    .set_user_data = SetUserData,
};

}  // namespace

MemoryHandle::MemoryHandle(PjRtMemorySpace* space, PJRT_Device* device) : space(space), device(device) {
  vtable = &kMemoryFunctions;
}

MemoryHandle::~MemoryHandle() {
  for (auto& [key, value] : user_data) {
    if (value.deleter != nullptr) value.deleter(value.data);
  }
}

absl::StatusOr<PjRtMemorySpace*> SpaceOf(PJRT_Memory* memory, PJRT_Device* device) {
  if (memory != nullptr) return Handle(memory)->space;
  if (device == nullptr) return absl::InvalidArgumentError("neither a memory nor a device is given");
  if (!device->device->IsAddressable()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s belongs to process %d; only that one can put data there",
        device->device->description().debug_string, device->device->description().process.value()));
  }
  return device->device->default_memory_space();
}

}  // namespace shoal

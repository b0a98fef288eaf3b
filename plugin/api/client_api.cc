// PJRT_Client.
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "plugin/api/compile_options.h"
#include "plugin/api/create_options.h"
#include "plugin/api/handles.h"
#include "plugin/api/shapes.h"
#include "plugin/api/xla_dump.h"

namespace shoal {
namespace {

absl::Status Create(PJRT_Client_Create_Args& args) {
  SHOAL_ASSIGN_OR_RETURN(PjRtClientOptions options, ParseCreateOptions(args));
  options.compiler = &Compile;
  SHOAL_ASSIGN_OR_RETURN(auto client, PjRtClient::Create(std::move(options)));
  args.client = new PJRT_Client(std::move(client));
  return absl::OkStatus();
}

absl::Status Destroy(PJRT_Client_Destroy_Args& args) {
  delete args.client;
  return absl::OkStatus();
}

absl::Status PlatformName(PJRT_Client_PlatformName_Args& args) {
  absl::string_view name = args.client->client->platform_name();
  args.platform_name = name.data();
  args.platform_name_size = name.size();
  return absl::OkStatus();
}

absl::Status ProcessIndex(PJRT_Client_ProcessIndex_Args& args) {
  args.process_index = args.client->client->process_index();
  return absl::OkStatus();
}

absl::Status PlatformVersionOf(PJRT_Client_PlatformVersion_Args& args) {
  absl::string_view version = args.client->client->platform_version();
  args.platform_version = version.data();
  args.platform_version_size = version.size();
  return absl::OkStatus();
}

absl::Status TopologyDescription(PJRT_Client_TopologyDescription_Args& args) {
  args.topology = args.client->topology.get();
  return absl::OkStatus();
}

absl::Status Devices(PJRT_Client_Devices_Args& args) {
  args.devices = args.client->devices.data();
  args.num_devices = args.client->devices.size();
  return absl::OkStatus();
}

absl::Status AddressableDevices(PJRT_Client_AddressableDevices_Args& args) {
  args.addressable_devices = args.client->addressable_devices.data();
  args.num_addressable_devices = args.client->addressable_devices.size();
  return absl::OkStatus();
}

absl::Status LookupDevice(PJRT_Client_LookupDevice_Args& args) {
  SHOAL_ASSIGN_OR_RETURN(PjRtDevice * device, args.client->client->LookupDevice(args.id));
  args.device = args.client->Of(device);
  return absl::OkStatus();
}

absl::Status LookupAddressableDevice(PJRT_Client_LookupAddressableDevice_Args& args) {
  SHOAL_ASSIGN_OR_RETURN(PjRtDevice * device,
                         args.client->client->LookupAddressableDevice(args.local_hardware_id));
  args.addressable_device = args.client->Of(device);
  return absl::OkStatus();
}

// JAX's coordination service watches the processes as well; Shoal has its own watch, which knows more.
absl::Status UpdateGlobalProcessInfo(PJRT_Client_UpdateGlobalProcessInfo_Args&) { return absl::OkStatus(); }

absl::Status AddressableMemories(PJRT_Client_AddressableMemories_Args& args) {
  args.addressable_memories = args.client->memories.data();
  args.num_addressable_memories = args.client->memories.size();
  return absl::OkStatus();
}

absl::Status CompileProgram(PJRT_Client_Compile_Args& args) {
  PjRtClient& client = *args.client->client;
  absl::string_view serialized = View(args.compile_options, args.compile_options_size);
  SHOAL_ASSIGN_OR_RETURN(CompileOptions options, ParseCompileOptions(serialized, &client));
  SHOAL_ASSIGN_OR_RETURN(auto executable,
                         client.Compile(View(args.program->code, args.program->code_size),
                                        View(args.program->format, args.program->format_size),
                                        std::move(options), std::string(serialized)));
  DumpForXlaOptions(*executable);
  SHOAL_ASSIGN_OR_RETURN(auto loaded, client.Load(std::move(executable)));
  args.executable = new PJRT_LoadedExecutable(std::move(loaded), args.client);
  return absl::OkStatus();
}

// The executable was compiled for a topology, without devices; the options given here say where it runs.
absl::Status Load(PJRT_Client_Load_Args& args) {
  PjRtClient& client = *args.client->client;
  absl::string_view serialized = View(args.compile_options, args.compile_options_size);
  SHOAL_ASSIGN_OR_RETURN(CompileOptions options, ParseCompileOptions(serialized, &client));
  auto executable = std::make_shared<PjRtExecutable>(*args.executable->executable);
  if (options.num_replicas != executable->options.num_replicas ||
      options.num_partitions != executable->options.num_partitions) {
    return absl::InvalidArgumentError(
        absl::StrCat("loading ", executable->compiled.name, " as ", options.num_replicas, " replicas x ",
                     options.num_partitions, " partitions, it was compiled as ",
                     executable->options.num_replicas, " x ", executable->options.num_partitions));
  }
  executable->options = std::move(options);
  SHOAL_ASSIGN_OR_RETURN(auto loaded, client.Load(std::move(executable)));
  args.loaded_executable = new PJRT_LoadedExecutable(std::move(loaded), args.client);
  return absl::OkStatus();
}

absl::Status DefaultDeviceAssignment(PJRT_Client_DefaultDeviceAssignment_Args& args) {
  SHOAL_ASSIGN_OR_RETURN(std::vector<DeviceId> devices, args.client->client->DefaultDeviceAssignment(
                                                            args.num_replicas, args.num_partitions));
  if (args.default_assignment_size < devices.size()) {
    return absl::InvalidArgumentError(absl::StrCat("room for ", args.default_assignment_size, " devices, ",
                                                   devices.size(), " are to be assigned"));
  }
  for (size_t i = 0; i < devices.size(); ++i) args.default_assignment[i] = devices[i].value();
  return absl::OkStatus();
}

// Host memory is device memory: there is nothing to map.
absl::Status DmaMap(PJRT_Client_DmaMap_Args&) { return absl::OkStatus(); }
absl::Status DmaUnmap(PJRT_Client_DmaUnmap_Args&) { return absl::OkStatus(); }

absl::StatusOr<HostBufferSemantics> SemanticsOf(PJRT_HostBufferSemantics semantics) {
  switch (semantics) {
    case PJRT_HostBufferSemantics_kImmutableOnlyDuringCall:
      return HostBufferSemantics::kImmutableOnlyDuringCall;
    case PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes:
      return HostBufferSemantics::kImmutableUntilTransferCompletes;
    case PJRT_HostBufferSemantics_kImmutableZeroCopy:
      return HostBufferSemantics::kImmutableZeroCopy;
    case PJRT_HostBufferSemantics_kMutableZeroCopy:
      return HostBufferSemantics::kMutableZeroCopy;
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown host buffer semantics ", semantics));
}

absl::Status BufferFromHostBuffer(PJRT_Client_BufferFromHostBuffer_Args& args) {
  HostBuffer host{.data = args.data};
  SHOAL_ASSIGN_OR_RETURN(host.shape, ShapeOf(args.type, args.dims, args.num_dims));
  SHOAL_ASSIGN_OR_RETURN(host.semantics, SemanticsOf(args.host_buffer_semantics));
  SHOAL_ASSIGN_OR_RETURN(PjRtMemorySpace * space, SpaceOf(args.memory, args.device));
  SHOAL_RETURN_IF_ERROR(CheckDeviceLayout(host.shape, args.device_layout));
  host.byte_strides = absl::Span<const int64_t>(args.byte_strides, args.num_byte_strides);
  Future done;
  SHOAL_ASSIGN_OR_RETURN(auto buffer, args.client->client->BufferFromHostBuffer(host, space, &done));
  args.done_with_host_buffer = NewEvent(std::move(done));
  args.buffer = NewBuffer(std::move(buffer), args.client);
  return absl::OkStatus();
}

absl::Status CreateUninitializedBuffer(PJRT_Client_CreateUninitializedBuffer_Args& args) {
  SHOAL_ASSIGN_OR_RETURN(Shape shape, ShapeOf(args.shape_element_type, args.shape_dims, args.shape_num_dims));
  SHOAL_ASSIGN_OR_RETURN(PjRtMemorySpace * space, SpaceOf(args.memory, args.device));
  SHOAL_RETURN_IF_ERROR(CheckDeviceLayout(shape, args.shape_layout));
  SHOAL_ASSIGN_OR_RETURN(auto buffer, PjRtBuffer::Allocate(shape, space, Future(),
                                                           absl::StrCat("uninitialized ", shape.ToString())));
  args.buffer = NewBuffer(std::move(buffer), args.client);
  return absl::OkStatus();
}

absl::Status CreateAliasBuffer(PJRT_Client_CreateAliasBuffer_Args& args) {
  SHOAL_ASSIGN_OR_RETURN(Shape shape, ShapeOf(args.shape_element_type, args.shape_dims, args.shape_num_dims));
  SHOAL_ASSIGN_OR_RETURN(PjRtMemorySpace * space, SpaceOf(args.memory, nullptr));
  SHOAL_RETURN_IF_ERROR(CheckDeviceLayout(shape, args.shape_layout));
  SHOAL_ASSIGN_OR_RETURN(AliasBuffer made, AliasBuffer::Create(shape, space));
  args.alias_buffer = NewBuffer(std::move(made.alias), args.client);
  args.fulfill_alias_buffer_cb = new PJRT_FulfillAliasBufferCallback{std::move(made.fulfillment)};
  return absl::OkStatus();
}

absl::Status FulfillAliasBuffer(PJRT_Client_FulfillAliasBuffer_Args& args) {
  const std::unique_ptr<PJRT_FulfillAliasBufferCallback> callback(args.fulfill_alias_buffer_cb);
  absl::Status error = StatusOf(args.status_code, args.error_message, args.error_message_size);
  if (!error.ok()) return callback->fulfillment->Fulfill(std::move(error));
  return callback->fulfillment->Fulfill(args.buffer->buffer.get());
}

absl::Status CreateErrorBuffer(PJRT_Client_CreateErrorBuffer_Args& args) {
  SHOAL_ASSIGN_OR_RETURN(Shape shape, ShapeOf(args.shape_element_type, args.shape_dims, args.shape_num_dims));
  absl::Status error = StatusOf(args.error_code, args.error_message, args.error_message_size);
  if (error.ok()) return absl::InvalidArgumentError("an error buffer needs an error");
  SHOAL_ASSIGN_OR_RETURN(PjRtMemorySpace * space, SpaceOf(args.memory, nullptr));
  args.buffer =
      NewBuffer(args.client->client->CreateErrorBuffer(std::move(error), shape, space), args.client);
  return absl::OkStatus();
}

absl::Status CreateViewOfDeviceBuffer(PJRT_Client_CreateViewOfDeviceBuffer_Args& args) {
  SHOAL_ASSIGN_OR_RETURN(Shape shape, ShapeOf(args.element_type, args.dims, args.num_dims));
  PJRT_Memory* memory = SHOAL_HAS_FIELD(args, memory) ? args.memory : nullptr;
  SHOAL_ASSIGN_OR_RETURN(PjRtMemorySpace * space, SpaceOf(memory, args.device));
  SHOAL_RETURN_IF_ERROR(CheckDeviceLayout(shape, args.layout));
  std::function<void()> on_delete;
  if (args.on_delete_callback != nullptr) {
    on_delete = [callback = args.on_delete_callback, data = args.device_buffer_ptr,
                 user_arg = args.on_delete_callback_arg] { callback(data, user_arg); };
  }
  SHOAL_ASSIGN_OR_RETURN(auto buffer, args.client->client->CreateViewOfDeviceBuffer(
                                          args.device_buffer_ptr, shape, space, std::move(on_delete)));
  args.buffer = NewBuffer(std::move(buffer), args.client);
  return absl::OkStatus();
}

}  // namespace

void BindClient(PJRT_Api& api) {
  SHOAL_BIND(api, Client_Create, Create);
  SHOAL_BIND(api, Client_Destroy, Destroy);
  SHOAL_BIND(api, Client_PlatformName, PlatformName);
  SHOAL_BIND(api, Client_ProcessIndex, ProcessIndex);
  SHOAL_BIND(api, Client_PlatformVersion, PlatformVersionOf);
  SHOAL_BIND(api, Client_TopologyDescription, TopologyDescription);
  SHOAL_BIND(api, Client_Devices, Devices);
  SHOAL_BIND(api, Client_AddressableDevices, AddressableDevices);
  SHOAL_BIND(api, Client_LookupDevice, LookupDevice);
  SHOAL_BIND(api, Client_LookupAddressableDevice, LookupAddressableDevice);
  SHOAL_BIND(api, Client_UpdateGlobalProcessInfo, UpdateGlobalProcessInfo);
  SHOAL_BIND(api, Client_AddressableMemories, AddressableMemories);
  SHOAL_BIND(api, Client_Compile, CompileProgram);
  SHOAL_BIND(api, Client_Load, Load);
  SHOAL_BIND(api, Client_DefaultDeviceAssignment, DefaultDeviceAssignment);
  SHOAL_BIND(api, Client_DmaMap, DmaMap);
  SHOAL_BIND(api, Client_DmaUnmap, DmaUnmap);
  SHOAL_BIND(api, Client_BufferFromHostBuffer, BufferFromHostBuffer);
  SHOAL_BIND(api, Client_CreateUninitializedBuffer, CreateUninitializedBuffer);
  SHOAL_BIND(api, Client_CreateAliasBuffer, CreateAliasBuffer);
  SHOAL_BIND(api, Client_FulfillAliasBuffer, FulfillAliasBuffer);
  SHOAL_BIND(api, Client_CreateErrorBuffer, CreateErrorBuffer);
  SHOAL_BIND(api, Client_CreateViewOfDeviceBuffer, CreateViewOfDeviceBuffer);
}

}  // namespace shoal

// The program ends; `why` is the error that ends it, or empty. 1 if a process of the job has died or not come
// in time; then the call waits at most so many seconds for the rest to end. PJRT has no word for that:
// clients go when the last array does, which may be long after, or never.
extern "C" __attribute__((visibility("default"))) int ShoalLeaveJobs(const char* why, double wait_s) {
  return shoal::PjRtClient::LeaveJobs(why, absl::Seconds(wait_s)) ? 1 : 0;
}

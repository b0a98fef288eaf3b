// PJRT_LoadedExecutable and PJRT_ExecuteContext.
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "plugin/api/compile_options.h"
#include "plugin/api/handles.h"
#include "plugin/api/host_callbacks.h"

namespace shoal {
namespace {

using ArgumentList = absl::InlinedVector<PjRtBuffer*, 16>;

absl::Status Destroy(PJRT_LoadedExecutable_Destroy_Args& args) {
  delete args.executable;
  return absl::OkStatus();
}

absl::Status GetExecutable(PJRT_LoadedExecutable_GetExecutable_Args& args) {
  args.executable = new PJRT_Executable(args.loaded_executable->executable->executable());
  return absl::OkStatus();
}

absl::Status AddressableDevices(PJRT_LoadedExecutable_AddressableDevices_Args& args) {
  args.addressable_devices = args.executable->devices.data();
  args.num_addressable_devices = args.executable->devices.size();
  return absl::OkStatus();
}

absl::Status AddressableDeviceLogicalIds(PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args& args) {
  args.addressable_device_logical_ids = args.executable->logical_ids.data();
  args.num_addressable_device_logical_ids = args.executable->logical_ids.size();
  return absl::OkStatus();
}

absl::Status GetDeviceAssignment(PJRT_LoadedExecutable_GetDeviceAssignment_Args& args) {
  auto* bytes =
      new std::string(SerializeDeviceAssignment(args.executable->executable->executable()->options));
  args.serialized_bytes = bytes->data();
  args.serialized_bytes_size = bytes->size();
  args.serialized_device_assignment = reinterpret_cast<PJRT_DeviceAssignmentSerialized*>(bytes);
  args.serialized_device_assignment_deleter = [](PJRT_DeviceAssignmentSerialized* assignment) {
    delete reinterpret_cast<std::string*>(assignment);
  };
  return absl::OkStatus();
}

absl::Status Delete(PJRT_LoadedExecutable_Delete_Args& args) {
  args.executable->executable->Delete();
  return absl::OkStatus();
}

absl::Status IsDeleted(PJRT_LoadedExecutable_IsDeleted_Args& args) {
  args.is_deleted = args.executable->executable->IsDeleted();
  return absl::OkStatus();
}

absl::Status Fingerprint(PJRT_LoadedExecutable_Fingerprint_Args& args) {
  args.executable_fingerprint = args.executable->fingerprint.data();
  args.executable_fingerprint_size = args.executable->fingerprint.size();
  return absl::OkStatus();
}

ArgumentList ArgumentsOf(const PJRT_LoadedExecutable_Execute_Args& args, size_t device) {
  ArgumentList list(args.num_args);
  for (size_t i = 0; i < args.num_args; ++i) list[i] = args.argument_lists[device][i]->buffer.get();
  return list;
}

// `num_devices`: of argument lists, and of callback lists.
absl::StatusOr<ExecuteOptions> OptionsOf(const PJRT_ExecuteOptions* options, size_t num_devices) {
  if (options == nullptr) return ExecuteOptions();
  if (!SHOAL_HAS_FIELD(*options, num_non_donatable_input_indices)) {
    return absl::InvalidArgumentError(
        absl::StrCat("PJRT_ExecuteOptions of ", options->struct_size, " bytes is too small"));
  }
  // JAX's launch ids are hashes of 32 bits, which the struct has as an int: errors would name runs below
  // zero.
  ExecuteOptions converted{.launch_id = static_cast<uint32_t>(options->launch_id),
                           .non_donatable_input_indices = {options->non_donatable_input_indices,
                                                           options->num_non_donatable_input_indices}};
  // The context is the caller's only during the call: what it points to stays.
  if (SHOAL_HAS_FIELD(*options, context) && options->context != nullptr &&
      !options->context->user_data.empty()) {
    converted.user_data = std::make_shared<const UserData>(options->context->user_data);
  }
  if (SHOAL_HAS_FIELD(*options, multi_slice_config) && options->multi_slice_config != nullptr)
    return absl::UnimplementedError("PJRT_ExecuteOptions.multi_slice_config: there are no slices");
  if (SHOAL_HAS_FIELD(*options, num_hlo_output_callbacks) && options->num_hlo_output_callbacks > 0) {
    return absl::UnimplementedError(
        "PJRT_ExecuteOptions.hlo_output_callbacks: no operation calls them; use send, or a custom call");
  }
  SHOAL_ASSIGN_OR_RETURN(converted.host_callbacks, HostCallbacksOf(*options, num_devices));
  return converted;
}

void HandOut(const PJRT_LoadedExecutable_Execute_Args& args, size_t device, DeviceResults& results) {
  for (size_t i = 0; i < results.outputs.size(); ++i) {
    args.output_lists[device][i] = NewBuffer(std::move(results.outputs[i]), args.executable->client);
  }
  if (args.device_complete_events != nullptr) {
    args.device_complete_events[device] = NewEvent(std::move(results.done));
  }
}

absl::Status ExecuteOnOne(PJRT_LoadedExecutable_Execute_Args& args, PjRtDevice* device,
                          const ExecuteOptions& options) {
  if (args.num_devices != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("executing on one device with argument lists for ", args.num_devices));
  }
  ArgumentList arguments = ArgumentsOf(args, 0);
  SHOAL_ASSIGN_OR_RETURN(DeviceResults results,
                         args.executable->executable->ExecuteOn(device, arguments, options));
  HandOut(args, 0, results);
  return absl::OkStatus();
}

absl::Status Execute(PJRT_LoadedExecutable_Execute_Args& args) {
  PjRtLoadedExecutable& executable = *args.executable->executable;
  SHOAL_ASSIGN_OR_RETURN(ExecuteOptions options, OptionsOf(args.options, args.num_devices));
  if (args.execute_device != nullptr) return ExecuteOnOne(args, args.execute_device->device, options);
  absl::Span<PjRtDevice* const> devices = executable.addressable_devices();
  // The common case, without lists of lists.
  if (executable.device_assignment().size() <= 1 && devices.size() == 1 && args.num_devices == 1) {
    return ExecuteOnOne(args, devices[0], options);
  }
  absl::InlinedVector<ArgumentList, 2> lists;
  std::vector<absl::Span<PjRtBuffer* const>> spans;
  for (size_t d = 0; d < args.num_devices; ++d) lists.push_back(ArgumentsOf(args, d));
  for (const ArgumentList& list : lists) spans.emplace_back(list);
  SHOAL_ASSIGN_OR_RETURN(std::vector<DeviceResults> results, executable.Execute(spans, options));
  for (size_t d = 0; d < results.size(); ++d) HandOut(args, d, results[d]);
  return absl::OkStatus();
}

absl::Status CreateContext(PJRT_ExecuteContext_Create_Args& args) {
  args.context = new PJRT_ExecuteContext;
  return absl::OkStatus();
}

absl::Status DestroyContext(PJRT_ExecuteContext_Destroy_Args& args) {
  delete args.context;
  return absl::OkStatus();
}

}  // namespace

void BindLoadedExecutable(PJRT_Api& api) {
  SHOAL_BIND(api, LoadedExecutable_Destroy, Destroy);
  SHOAL_BIND(api, LoadedExecutable_GetExecutable, GetExecutable);
  SHOAL_BIND(api, LoadedExecutable_AddressableDevices, AddressableDevices);
  SHOAL_BIND(api, LoadedExecutable_AddressableDeviceLogicalIds, AddressableDeviceLogicalIds);
  SHOAL_BIND(api, LoadedExecutable_GetDeviceAssignment, GetDeviceAssignment);
  SHOAL_BIND(api, LoadedExecutable_Delete, Delete);
  SHOAL_BIND(api, LoadedExecutable_IsDeleted, IsDeleted);
  SHOAL_BIND(api, LoadedExecutable_Fingerprint, Fingerprint);
  SHOAL_BIND(api, LoadedExecutable_Execute, Execute);
  SHOAL_BIND(api, ExecuteContext_Create, CreateContext);
  SHOAL_BIND(api, ExecuteContext_Destroy, DestroyContext);
}

}  // namespace shoal

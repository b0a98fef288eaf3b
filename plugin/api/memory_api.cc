// PJRT_Memory.
#include "plugin/api/handles.h"

namespace shoal {
namespace {

absl::Status Id(PJRT_Memory_Id_Args& args) {
  args.id = Handle(args.memory)->space->id();
  return absl::OkStatus();
}

absl::Status Kind(PJRT_Memory_Kind_Args& args) {
  absl::string_view kind = Handle(args.memory)->space->kind();
  args.kind = kind.data();
  args.kind_size = kind.size();
  return absl::OkStatus();
}

absl::Status KindId(PJRT_Memory_Kind_Id_Args& args) {
  args.kind_id = Handle(args.memory)->space->kind_id();
  return absl::OkStatus();
}

absl::Status DebugString(PJRT_Memory_DebugString_Args& args) {
  const std::string& text = Handle(args.memory)->space->debug_string();
  args.debug_string = text.data();
  args.debug_string_size = text.size();
  return absl::OkStatus();
}

absl::Status ToString(PJRT_Memory_ToString_Args& args) {
  const std::string& text = Handle(args.memory)->space->to_string();
  args.to_string = text.data();
  args.to_string_size = text.size();
  return absl::OkStatus();
}

absl::Status AddressableByDevices(PJRT_Memory_AddressableByDevices_Args& args) {
  args.devices = &Handle(args.memory)->device;
  args.num_devices = 1;
  return absl::OkStatus();
}

}  // namespace

void BindMemory(PJRT_Api& api) {
  SHOAL_BIND(api, Memory_Id, Id);
  SHOAL_BIND(api, Memory_Kind, Kind);
  SHOAL_BIND(api, Memory_Kind_Id, KindId);
  SHOAL_BIND(api, Memory_DebugString, DebugString);
  SHOAL_BIND(api, Memory_ToString, ToString);
  SHOAL_BIND(api, Memory_AddressableByDevices, AddressableByDevices);
}

}  // namespace shoal

// The FFI extension: handlers and types are registered through it, and user data is attached to an execution.
#include "core/base/status.h"
#include "plugin/api/handles.h"
#include "plugin/ffi/handlers.h"
#include "plugin/ffi/types.h"
#include "xla/pjrt/c/pjrt_c_api_ffi_extension.h"

namespace shoal {
namespace {

constexpr char kName[] = "FFI extension";

absl::Status RegisterType(PJRT_FFI_Type_Register_Args& args) {
  SHOAL_ASSIGN_OR_RETURN(args.type_id,
                         RegisterFfiType(View(args.type_name, args.type_name_size), args.type_id,
                                         args.type_info == nullptr ? nullptr : args.type_info->deleter));
  return absl::OkStatus();
}

absl::Status AddUserData(PJRT_FFI_UserData_Add_Args& args) {
  if (args.context == nullptr) return absl::InvalidArgumentError("user data needs an execute context");
  args.context->user_data.emplace_back(args.user_data.type_id, args.user_data.data);
  return absl::OkStatus();
}

absl::Status RegisterHandler(PJRT_FFI_Register_Handler_Args& args) {
  return RegisterFfiHandler(View(args.target_name, args.target_name_size),
                            View(args.platform_name, args.platform_name_size),
                            {.execute = reinterpret_cast<XLA_FFI_Handler*>(args.handler)}, /*traits=*/0);
}

}  // namespace

PJRT_Extension_Base* FfiExtension(PJRT_Extension_Base* next) {
  static PJRT_FFI_Extension extension = {
      .base = {.struct_size = PJRT_FFI_Extension_STRUCT_SIZE, .type = PJRT_Extension_Type_FFI, .next = next},
      .type_register = ExtensionEntry<kName, RegisterType>,
      .user_data_add = ExtensionEntry<kName, AddUserData>,
      .register_handler = ExtensionEntry<kName, RegisterHandler>,
  };
  return &extension.base;
}

}  // namespace shoal

#include "plugin/ffi/api.h"

#include <algorithm>
#include <exception>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/memory/allocator.h"
#include "plugin/ffi/error.h"
#include "plugin/ffi/execution.h"
#include "plugin/ffi/handler_tasks.h"
#include "plugin/ffi/handlers.h"
#include "plugin/ffi/types.h"
#include "plugin/ffi/untyped_call.h"

namespace shoal {
namespace {

absl::string_view View(const XLA_FFI_ByteSpan& span) { return {span.ptr, span.len}; }

// An entry of the table: a failed status becomes an error that the caller owns.
template <auto kFunction, typename Args>
XLA_FFI_Error* Entry(Args* args) {
  try {
    return ToFfiError(kFunction(*args));
  } catch (const std::exception& e) {
    return ToFfiError(absl::InternalError(absl::StrCat("exception \"", e.what(), "\" in XLA's FFI")));
  }
}

absl::StatusOr<const RunContext*> RunOf(const XLA_FFI_ExecutionContext* context) {
  if (context != nullptr && context->run != nullptr) return context->run;
  return absl::FailedPreconditionError("the call site is being made: it runs on no device yet");
}

XLA_FFI_Error* CreateError(XLA_FFI_Error_Create_Args* args) {
  return ToFfiError(absl::Status(static_cast<absl::StatusCode>(args->errc), args->message));
}

void GetMessage(XLA_FFI_Error_GetMessage_Args* args) { args->message = args->error->message.c_str(); }

void DestroyError(XLA_FFI_Error_Destroy_Args* args) { delete args->error; }

absl::Status RegisterHandler(XLA_FFI_Handler_Register_Args& args) {
  return RegisterFfiHandler(View(args.name), View(args.platform), args.bundle, args.traits);
}

absl::Status GetStream(XLA_FFI_Stream_Get_Args&) {
  return absl::UnimplementedError("XLA FFI GPU context is not available: a CPU has no stream");
}

absl::Status RegisterType(XLA_FFI_Type_Register_Args& args) {
  const FfiDeleter deleter = args.type_info == nullptr ? nullptr : args.type_info->deleter;
  SHOAL_ASSIGN_OR_RETURN(args.type_id->type_id,
                         RegisterFfiType(View(args.name), args.type_id->type_id, deleter));
  return absl::OkStatus();
}

// Type 0 asks for the run's user data whatever its type is, if there is just one: the caller of the C API
// (jaxlib, with its list of host callbacks) does not say under which id it attaches it.
absl::Status GetUserData(XLA_FFI_ExecutionContext_Get_Args& args) {
  SHOAL_ASSIGN_OR_RETURN(const RunContext* const run, RunOf(args.ctx));
  const int64_t id = args.type_id->type_id;
  const size_t count = run->user_data == nullptr ? 0 : run->user_data->size();
  for (size_t i = 0; i < count; ++i) {
    const auto& [type, data] = (*run->user_data)[i];
    if (type != id && !(id == 0 && count == 1)) continue;
    args.data = data;
    return absl::OkStatus();
  }
  return absl::NotFoundError(
      absl::StrCat("user data of type ", id, " among the ", count, " that were given to this execution"));
}

absl::StatusOr<FfiState*> StateOf(const XLA_FFI_ExecutionContext* context, XLA_FFI_ExecutionStage stage) {
  const int number = stage;  // a handler's: any number
  if (number >= 0 && number < kFfiStages && context->states[number] != nullptr)
    return context->states[number];
  return absl::FailedPreconditionError(absl::StrCat("there is no state of stage ", number));
}

absl::Status SetState(XLA_FFI_State_Set_Args& args) {
  if (args.stage == XLA_FFI_ExecutionStage_INSTANTIATE && args.ctx->run != nullptr) {
    return absl::FailedPreconditionError("the state of a call site is set when that is made, not in a run");
  }
  SHOAL_ASSIGN_OR_RETURN(FfiState* const state, StateOf(args.ctx, args.stage));
  return state->Set(args.type_id->type_id, args.state);
}

absl::Status GetState(XLA_FFI_State_Get_Args& args) {
  SHOAL_ASSIGN_OR_RETURN(const FfiState* const state, StateOf(args.ctx, args.stage));
  SHOAL_ASSIGN_OR_RETURN(args.state, state->Get(args.type_id->type_id));
  return absl::OkStatus();
}

absl::Status Allocate(XLA_FFI_DeviceMemory_Allocate_Args& args) {
  SHOAL_ASSIGN_OR_RETURN(const RunContext* const run, RunOf(args.ctx));
  if (args.alignment > Allocator::kAlignment) {
    return absl::UnimplementedError(absl::StrCat("memory of a handler aligned to ", args.alignment,
                                                 " bytes; Shoal gives ", Allocator::kAlignment));
  }
  SHOAL_ASSIGN_OR_RETURN(args.data, run->allocator->Allocate(args.size, "memory of an FFI handler"));
  return absl::OkStatus();
}

absl::Status Free(XLA_FFI_DeviceMemory_Free_Args& args) {
  SHOAL_ASSIGN_OR_RETURN(const RunContext* const run, RunOf(args.ctx));
  run->allocator->Free(args.data);
  return absl::OkStatus();
}

absl::Status Schedule(XLA_FFI_ThreadPool_Schedule_Args& args) {
  HandlerTasks::Get().Submit([task = args.task, data = args.data] { task(data); });
  return absl::OkStatus();
}

absl::Status NumThreads(XLA_FFI_ThreadPool_NumThreads_Args& args) {
  *args.num_threads = HandlerTasks::Get().num_threads();
  return absl::OkStatus();
}

absl::Status CreateFuture(XLA_FFI_Future_Create_Args& args) {
  args.future = new XLA_FFI_Future;
  return absl::OkStatus();
}

absl::Status SetAvailable(XLA_FFI_Future_SetAvailable_Args& args) {
  args.future->promise.Set(absl::OkStatus());
  args.future->Release();
  return absl::OkStatus();
}

absl::Status SetError(XLA_FFI_Future_SetError_Args& args) {
  args.future->promise.Set(TakeFfiError(args.error));
  args.future->Release();
  return absl::OkStatus();
}

absl::Status GetRunId(XLA_FFI_RunId_Get_Args& args) {
  SHOAL_ASSIGN_OR_RETURN(const RunContext* const run, RunOf(args.ctx));
  args.run_id = run->run.value();
  return absl::OkStatus();
}

absl::Status GetDeviceOrdinal(XLA_FFI_DeviceOrdinal_Get_Args& args) {
  SHOAL_ASSIGN_OR_RETURN(const RunContext* const run, RunOf(args.ctx));
  args.device_ordinal = run->local_ordinal;
  return absl::OkStatus();
}

}  // namespace

const XLA_FFI_Api* FfiApi() {
  static const XLA_FFI_Api api = {
      .struct_size = XLA_FFI_Api_STRUCT_SIZE,
      .extension_start = nullptr,
      .api_version = {.struct_size = XLA_FFI_Api_Version_STRUCT_SIZE,
                      .extension_start = nullptr,
                      .major_version = XLA_FFI_API_MAJOR,
                      .minor_version = XLA_FFI_API_MINOR},
      .internal_api = nullptr,
      .XLA_FFI_Error_Create = CreateError,
      .XLA_FFI_Error_GetMessage = GetMessage,
      .XLA_FFI_Error_Destroy = DestroyError,
      .XLA_FFI_Handler_Register = Entry<RegisterHandler>,
      .XLA_FFI_Stream_Get = Entry<GetStream>,
      .XLA_FFI_Type_Register = Entry<RegisterType>,
      .XLA_FFI_ExecutionContext_Get = Entry<GetUserData>,
      .XLA_FFI_State_Set = Entry<SetState>,
      .XLA_FFI_State_Get = Entry<GetState>,
      .XLA_FFI_DeviceMemory_Allocate = Entry<Allocate>,
      .XLA_FFI_DeviceMemory_Free = Entry<Free>,
      .XLA_FFI_ThreadPool_Schedule = Entry<Schedule>,
      .XLA_FFI_ThreadPool_NumThreads = Entry<NumThreads>,
      .XLA_FFI_Future_Create = Entry<CreateFuture>,
      .XLA_FFI_Future_SetAvailable = Entry<SetAvailable>,
      .XLA_FFI_Future_SetError = Entry<SetError>,
      .XLA_FFI_RunId_Get = Entry<GetRunId>,
      .XLA_FFI_DeviceOrdinal_Get = Entry<GetDeviceOrdinal>,
  };
  return &api;
}

}  // namespace shoal

extern "C" __attribute__((visibility("default"))) const XLA_FFI_Api* XLA_FFI_GetApi() {
  return shoal::FfiApi();
}

// An untyped function for `target`, which XLA's FFI has no way to register. The error is the caller's, as
// those of XLA_FFI_Api are.
extern "C" __attribute__((visibility("default"))) XLA_FFI_Error* ShoalRegisterUntypedFunction(
    const char* target, void* function) {
  try {
    return shoal::ToFfiError(shoal::RegisterUntypedFunction(target, function));
  } catch (const std::exception& e) {
    return shoal::ToFfiError(
        absl::InternalError(absl::StrCat("exception \"", e.what(), "\" in registering ", target)));
  }
}

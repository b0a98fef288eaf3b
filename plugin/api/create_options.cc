#include "plugin/api/create_options.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "launcher/store/callback_store.h"

namespace shoal {
namespace {

// The callbacks make their errors with a function of ours.
PJRT_Error* MakeCallbackError(PJRT_Error_Code code, const char* message, size_t message_size) {
  return ToError(StatusOf(code, message, message_size));
}
PJRT_CallbackError kCallbackError = &MakeCallbackError;

// Takes a callback's error.
absl::Status TakeError(PJRT_Error* error) {
  absl::Status status = ToStatus(error);
  if (error != nullptr) error->vtable->destroy(error);
  return status;
}

template <typename Args>
std::string TakeValue(Args& args) {
  std::string value(args.value, args.value_size);
  if (args.value_deleter_callback != nullptr) args.value_deleter_callback(args.value);
  return value;
}

absl::StatusOr<std::string> CallGet(PJRT_KeyValueGetCallback get, void* user_arg, absl::string_view key,
                                    absl::Duration timeout) {
  PJRT_KeyValueGetCallback_Args call = {};
  call.struct_size = PJRT_KeyValueGetCallback_Args_STRUCT_SIZE;
  call.key = key.data();
  call.key_size = key.size();
  call.timeout_in_ms = static_cast<int>(
      std::min<int64_t>(absl::ToInt64Milliseconds(timeout), std::numeric_limits<int>::max()));
  call.callback_error = &kCallbackError;
  call.user_arg = user_arg;
  SHOAL_RETURN_IF_ERROR(TakeError(get(&call)));
  return TakeValue(call);
}

absl::StatusOr<std::string> CallTryGet(PJRT_KeyValueTryGetCallback try_get, void* user_arg,
                                       absl::string_view key) {
  PJRT_KeyValueTryGetCallback_Args call = {};
  call.struct_size = PJRT_KeyValueTryGetCallback_Args_STRUCT_SIZE;
  call.key = key.data();
  call.key_size = key.size();
  call.callback_error = &kCallbackError;
  call.user_arg = user_arg;
  SHOAL_RETURN_IF_ERROR(TakeError(try_get(&call)));
  return TakeValue(call);
}

absl::Status CallPut(PJRT_KeyValuePutCallback put, void* user_arg, absl::string_view key,
                     absl::string_view value) {
  PJRT_KeyValuePutCallback_Args call = {};
  call.struct_size = PJRT_KeyValuePutCallback_Args_STRUCT_SIZE;
  call.key = key.data();
  call.key_size = key.size();
  call.value = value.data();
  call.value_size = value.size();
  call.callback_error = &kCallbackError;
  call.user_arg = user_arg;
  return TakeError(put(&call));
}

std::unique_ptr<KeyValueStore> StoreOf(const PJRT_Client_Create_Args& args) {
  if (args.kv_get_callback == nullptr || args.kv_put_callback == nullptr) return nullptr;
  StoreCallbacks callbacks;
  callbacks.get = [get = args.kv_get_callback, arg = args.kv_get_user_arg](absl::string_view key,
                                                                           absl::Duration timeout) {
    return CallGet(get, arg, key, timeout);
  };
  callbacks.put = [put = args.kv_put_callback, arg = args.kv_put_user_arg](absl::string_view key,
                                                                           absl::string_view value) {
    return CallPut(put, arg, key, value);
  };
  if (SHOAL_HAS_FIELD(args, kv_try_get_user_arg) && args.kv_try_get_callback != nullptr) {
    callbacks.try_get = [try_get = args.kv_try_get_callback, arg = args.kv_try_get_user_arg](
                            absl::string_view key) { return CallTryGet(try_get, arg, key); };
  }
  return std::make_unique<CallbackStore>(std::move(callbacks));
}

// An integer, also as text: JAX's jax_pjrt_client_create_options gives strings.
absl::StatusOr<int> IntOption(const PJRT_NamedValue& value) {
  int number;
  if (value.type == PJRT_NamedValue_kInt64) return static_cast<int>(value.int64_value);
  if (value.type == PJRT_NamedValue_kString &&
      absl::SimpleAtoi(View(value.string_value, value.value_size), &number)) {
    return number;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("client option ", View(value.name, value.name_size), " must be an integer"));
}

}  // namespace

absl::StatusOr<PjRtClientOptions> ParseCreateOptions(const PJRT_Client_Create_Args& args) {
  PjRtClientOptions options;
  for (size_t i = 0; i < args.num_options; ++i) {
    const PJRT_NamedValue& value = args.create_options[i];
    absl::string_view name = View(value.name, value.name_size);
    if (name == "num_devices") {
      SHOAL_ASSIGN_OR_RETURN(options.num_devices, IntOption(value));
    } else if (name == "zero_copy_host_buffers") {
      SHOAL_ASSIGN_OR_RETURN(int on, IntOption(value));
      options.zero_copy_host_buffers = on != 0;
    } else if (name == "node_id") {
      SHOAL_ASSIGN_OR_RETURN(options.process_id, IntOption(value));
    } else if (name == "num_nodes") {
      SHOAL_ASSIGN_OR_RETURN(options.process_count, IntOption(value));
    } else if (name == "coordinator" && value.type == PJRT_NamedValue_kString) {
      options.coordinator = std::string(View(value.string_value, value.value_size));
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("unknown client option \"", name,
                       "\"; there are num_devices, zero_copy_host_buffers, node_id, num_nodes and "
                       "coordinator (text)"));
    }
  }
  // jaxlib leaves the callbacks uninitialized where it has none, so they are believed only from a caller that
  // says it is one of several processes, and not where those meet.
  if (options.process_count.has_value() && options.coordinator.empty()) options.store = StoreOf(args);
  return options;
}

}  // namespace shoal

// PJRT_Event: a future. The caller destroys it, whether it is ready or not.
#include <memory>

#include "plugin/api/handles.h"

namespace shoal {
namespace {

absl::Status Destroy(PJRT_Event_Destroy_Args& args) {
  delete args.event;
  return absl::OkStatus();
}

absl::Status IsReady(PJRT_Event_IsReady_Args& args) {
  args.is_ready = args.event->future.IsReady();
  return absl::OkStatus();
}

absl::Status Error(PJRT_Event_Error_Args& args) {
  if (!args.event->future.IsReady()) {
    return absl::FailedPreconditionError(
        "PJRT_Event_Error: the event is not ready; ask PJRT_Event_IsReady first");
  }
  return args.event->future.status();
}

absl::Status Await(PJRT_Event_Await_Args& args) { return args.event->future.Await(); }

absl::Status OnReady(PJRT_Event_OnReady_Args& args) {
  args.event->future.Then([callback = args.callback, user_arg = args.user_arg](const absl::Status& status) {
    callback(ToError(status), user_arg);
  });
  return absl::OkStatus();
}

absl::Status Create(PJRT_Event_Create_Args& args) {
  auto promise = std::make_unique<Promise>();
  Future future = promise->future();
  args.event = new PJRT_Event{std::move(future), std::move(promise)};
  return absl::OkStatus();
}

absl::Status Set(PJRT_Event_Set_Args& args) {
  if (args.event->promise == nullptr) {
    return absl::FailedPreconditionError("PJRT_Event_Set: the event was not made by PJRT_Event_Create");
  }
  if (args.event->promise->Set(StatusOf(args.error_code, args.error_message, args.error_message_size))) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError("PJRT_Event_Set: the event was set before");
}

}  // namespace

void BindEvent(PJRT_Api& api) {
  SHOAL_BIND(api, Event_Destroy, Destroy);
  SHOAL_BIND(api, Event_IsReady, IsReady);
  SHOAL_BIND(api, Event_Error, Error);
  SHOAL_BIND(api, Event_Await, Await);
  SHOAL_BIND(api, Event_OnReady, OnReady);
  SHOAL_BIND(api, Event_Create, Create);
  SHOAL_BIND(api, Event_Set, Set);
}

}  // namespace shoal

// PJRT_Error: a status that the caller owns.
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "plugin/api/api.h"

namespace shoal {
namespace {

// The first member is what the header says an error begins with: its own functions, for callers that have no
// table.
struct ErrorHandle : PJRT_Error {
  absl::Status status;
};

const ErrorHandle* Handle(const PJRT_Error* error) { return static_cast<const ErrorHandle*>(error); }

void Destroy(PJRT_Error* error) { delete Handle(error); }

void Message(const PJRT_Error* error, const char** message, size_t* size) {
  absl::string_view text = Handle(error)->status.message();
  *message = text.data();
  *size = text.size();
}

// absl's codes and PJRT's are both those of google.rpc.
PJRT_Error_Code Code(const PJRT_Error* error) {
  return static_cast<PJRT_Error_Code>(Handle(error)->status.raw_code());
}

void ForEachPayload(const PJRT_Error* error, PJRT_Error_PayloadVisitor visitor, void* user_arg) {
  Handle(error)->status.ForEachPayload([&](absl::string_view key, const absl::Cord& payload) {
    std::string value(payload);
    visitor(key.data(), key.size(), value.data(), value.size(), user_arg);
  });
}

constexpr PJRT_Error_FunctionTable kErrorFunctions = {
    .struct_size = PJRT_Error_FunctionTable_STRUCT_SIZE,
    .instance_size = PJRT_Error_STRUCT_SIZE,
    .extension_start = nullptr,
    .destroy = Destroy,
    .message = Message,
    .get_code = Code,
    .for_each_payload = ForEachPayload,
};

absl::Status GetCode(PJRT_Error_GetCode_Args& args) {
  args.code = Code(args.error);
  return absl::OkStatus();
}

absl::Status VisitPayloads(PJRT_Error_ForEachPayload_Args& args) {
  ForEachPayload(args.error, args.visitor, args.user_arg);
  return absl::OkStatus();
}

}  // namespace

PJRT_Error* ToError(const absl::Status& status) {
  if (status.ok()) return nullptr;
  auto* error = new ErrorHandle;
  error->vtable = &kErrorFunctions;
  error->status = status;
  return error;
}

absl::Status ToStatus(const PJRT_Error* error) {
  return error == nullptr ? absl::OkStatus() : Handle(error)->status;
}

absl::Status TakeError(PJRT_Error* error) {
  absl::Status status = ToStatus(error);
  Destroy(error);
  return status;
}

absl::Status StatusOf(PJRT_Error_Code code, const char* message, size_t message_size) {
  return absl::Status(static_cast<absl::StatusCode>(code), View(message, message_size));
}

PJRT_Error* StructTooSmall(absl::string_view entry, size_t given, size_t least) {
  return ToError(absl::InvalidArgumentError(absl::StrCat(
      entry, ": the argument struct has ", given, " bytes, at least ", least,
      " are needed; the caller was built with PJRT headers that are too old or broken (this plugin has ",
      PJRT_API_MAJOR, ".", PJRT_API_MINOR, ")")));
}

PJRT_Error* ExceptionCaught(absl::string_view entry, const char* what) {
  return ToError(absl::InternalError(absl::StrCat(entry, ": exception \"", what, "\"; please report this")));
}

PJRT_Error* NotImplemented(absl::string_view entry) {
  return ToError(absl::UnimplementedError(absl::StrCat(entry, " is not implemented by Shoal")));
}

void BindError(PJRT_Api& api) {
  api.PJRT_Error_Destroy = [](PJRT_Error_Destroy_Args* args) { Destroy(args->error); };
  api.PJRT_Error_Message = [](PJRT_Error_Message_Args* args) {
    Message(args->error, &args->message, &args->message_size);
  };
  SHOAL_BIND(api, Error_GetCode, GetCode);
  SHOAL_BIND(api, Error_ForEachPayload, VisitPayloads);
}

}  // namespace shoal

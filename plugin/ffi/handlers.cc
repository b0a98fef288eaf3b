#include "plugin/ffi/handlers.h"

#include <exception>
#include <mutex>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/runtime/custom_call.h"
#include "plugin/ffi/api.h"
#include "plugin/ffi/call.h"
#include "plugin/ffi/error.h"

namespace shoal {
namespace {

struct Handlers {
  std::mutex mutex;
  absl::flat_hash_map<std::string, FfiHandler> by_target;  // guarded by mutex
};

Handlers& AllHandlers() {
  static auto* const handlers = new Handlers;
  return *handlers;
}

bool Same(const XLA_FFI_Handler_Bundle& a, const XLA_FFI_Handler_Bundle& b) {
  return a.instantiate == b.instantiate && a.prepare == b.prepare && a.initialize == b.initialize &&
         a.execute == b.execute;
}

// Asks a handler for its metadata, as XLA does when it is registered.
absl::Status CheckVersion(XLA_FFI_Handler* handler) {
  XLA_FFI_Metadata metadata = {};
  metadata.struct_size = XLA_FFI_Metadata_STRUCT_SIZE;
  metadata.api_version.struct_size = XLA_FFI_Api_Version_STRUCT_SIZE;
  XLA_FFI_Metadata_Extension extension = {};
  extension.extension_base = {XLA_FFI_Metadata_Extension_STRUCT_SIZE, XLA_FFI_Extension_Metadata, nullptr};
  extension.metadata = &metadata;
  XLA_FFI_CallFrame frame = {};
  frame.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE;
  frame.extension_start = &extension.extension_base;
  frame.api = FfiApi();
  SHOAL_RETURN_IF_ERROR(TakeFfiError(handler(&frame)));
  if (metadata.api_version.major_version == XLA_FFI_API_MAJOR) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the handler was built with version ", metadata.api_version.major_version, ".",
                   metadata.api_version.minor_version, " of XLA's FFI, Shoal has ", XLA_FFI_API_MAJOR, ".",
                   XLA_FFI_API_MINOR, "; build it with the headers of jax.ffi.include_dir()"));
}

absl::Status Check(absl::string_view platform, const XLA_FFI_Handler_Bundle& bundle) {
  bool known = false;
  for (absl::string_view name : {"cpu", "host", "shoal"}) {
    known = known || absl::EqualsIgnoreCase(platform, name);
  }
  if (!known) {
    return absl::InvalidArgumentError(
        absl::StrCat("for platform '", platform, "'; Shoal's are cpu, host and shoal"));
  }
  if (bundle.execute == nullptr) return absl::InvalidArgumentError("there is no handler to execute");
  for (XLA_FFI_Handler* handler : {bundle.instantiate, bundle.prepare, bundle.initialize, bundle.execute}) {
    if (handler != nullptr) SHOAL_RETURN_IF_ERROR(CheckVersion(handler));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterFfiHandler(absl::string_view target, absl::string_view platform,
                                const XLA_FFI_Handler_Bundle& bundle, XLA_FFI_Handler_Traits traits) {
  const std::string context = absl::StrCat("registering the FFI target '", target, "'");
  SHOAL_RETURN_IF_ERROR(Annotate(Check(platform, bundle), context));
  const FfiHandler handler{bundle, (traits & kFfiMayWait) != 0};
  {
    Handlers& all = AllHandlers();
    std::lock_guard<std::mutex> lock(all.mutex);
    const auto [it, added] = all.by_target.try_emplace(std::string(target), handler);
    if (!added && !Same(it->second.bundle, bundle)) {
      return absl::AlreadyExistsError(absl::StrCat(context, ": it has another handler already"));
    }
  }
  CustomCallRegistry::Get().Register(
      target, [handler](const CustomCallSite& site) { return FfiCall::Create(handler, site); });
  return absl::OkStatus();
}

}  // namespace shoal

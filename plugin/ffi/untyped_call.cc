#include "plugin/ffi/untyped_call.h"

#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/runtime/custom_call.h"

// What XlaCustomCallStatusSetFailure, which is part of the caller's library, writes to: XLA's own layout.
struct XlaCustomCallStatus {
  std::optional<std::string> message;
};

namespace shoal {
namespace {

using Original = void (*)(void* out, const void** in);
using WithStatus = void (*)(void* out, const void** in, XlaCustomCallStatus* status);
using Unified = void (*)(void* out, const void** in, const char* opaque, size_t opaque_len,
                         XlaCustomCallStatus* status);

constexpr int64_t kLastUntyped = 3;

class UntypedCall : public CustomCall {
 public:
  UntypedCall(void* function, CustomCallSite site) : function_(function), site_(std::move(site)) {}

  Future Start(const RunContext&, absl::Span<const void* const> operands,
               absl::Span<void* const> results) const override {
    std::vector<const void*> in(operands.begin(), operands.end());
    std::vector<void*> several(results.begin(), results.end());
    void* const out = results.size() == 1 ? results[0] : several.data();
    XlaCustomCallStatus status;
    try {
      Call(out, in.data(), &status);
    } catch (const std::exception& e) {
      status.message = absl::StrCat("it threw \"", e.what(), "\"");
    } catch (...) {
      status.message = "it threw something that is no std::exception";
    }
    if (!status.message.has_value()) return Future();
    return absl::InternalError(absl::StrCat(
        "custom call '", site_.target, "'",
        site_.op_name.empty() ? "" : absl::StrCat(" (", site_.op_name, ")"), ": ", *status.message));
  }

 private:
  void Call(void* out, const void** in, XlaCustomCallStatus* status) const {
    const std::string& opaque = site_.backend_config;
    switch (site_.api_version) {
      case 2:
        return reinterpret_cast<WithStatus>(function_)(out, in, status);
      case 3:
        return reinterpret_cast<Unified>(function_)(out, in, opaque.data(), opaque.size(), status);
      default:
        return reinterpret_cast<Original>(function_)(out, in);
    }
  }

  void* const function_;
  const CustomCallSite site_;
};

}  // namespace

absl::Status RegisterUntypedFunction(absl::string_view target, void* function) {
  struct Functions {
    std::mutex mutex;
    absl::flat_hash_map<std::string, void*> by_target;  // guarded by mutex
  };
  static auto* const functions = [] {
    auto* made = new Functions;
    CustomCallRegistry::Get().RegisterFallback(
        [made](const CustomCallSite& site) -> absl::StatusOr<std::unique_ptr<CustomCall>> {
          std::lock_guard<std::mutex> lock(made->mutex);
          const auto it = made->by_target.find(site.target);
          if (it == made->by_target.end()) return absl::NotFoundError(site.target);
          if (site.api_version > kLastUntyped) {
            return absl::InvalidArgumentError(
                absl::StrCat("custom call '", site.target, "' has API version ", site.api_version,
                             ", and its target is an untyped function, which is called by the versions 1 to ",
                             kLastUntyped, "; pass custom_call_api_version, or register a typed handler"));
          }
          return std::make_unique<UntypedCall>(it->second, site);
        });
    return made;
  }();
  if (function == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("the custom call target '", target, "' has a null function"));
  }
  std::lock_guard<std::mutex> lock(functions->mutex);
  const auto [it, added] = functions->by_target.try_emplace(std::string(target), function);
  if (added || it->second == function) return absl::OkStatus();
  return absl::AlreadyExistsError(
      absl::StrCat("the custom call target '", target, "' has another function already"));
}

}  // namespace shoal

#include "core/runtime/custom_call.h"

#include <mutex>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/runtime/random_state.h"

namespace shoal {
namespace {

// Uses its operands, so that they are computed (JAX's dce_sink).
class Sink : public CustomCall {
 public:
  Future Start(const RunContext&, absl::Span<const void* const>, absl::Span<void* const>) const override {
    return Future();
  }
};

}  // namespace

struct CustomCallRegistry::Impl {
  std::mutex mutex;
  absl::flat_hash_map<std::string, Factory> factories;  // guarded by mutex
  std::vector<Factory> fallbacks;                       // guarded by mutex
};

CustomCallRegistry::CustomCallRegistry() : impl_(new Impl) {
  Register(kRandomStateTarget, MakeRandomState);
  Register("dce_sink", [](const CustomCallSite&) { return std::make_unique<Sink>(); });
}

CustomCallRegistry& CustomCallRegistry::Get() {
  static auto* const registry = new CustomCallRegistry;
  return *registry;
}

void CustomCallRegistry::Register(absl::string_view target, Factory factory) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->factories[std::string(target)] = std::move(factory);
}

void CustomCallRegistry::RegisterFallback(Factory factory) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->fallbacks.push_back(std::move(factory));
}

absl::StatusOr<std::unique_ptr<CustomCall>> CustomCallRegistry::Prepare(const CustomCallSite& site) const {
  std::vector<Factory> candidates;
  {
    std::lock_guard<std::mutex> lock(impl_->mutex);
    const auto it = impl_->factories.find(site.target);
    candidates = it == impl_->factories.end() ? impl_->fallbacks : std::vector<Factory>{it->second};
  }
  for (const Factory& factory : candidates) {
    absl::StatusOr<std::unique_ptr<CustomCall>> call = factory(site);
    if (!absl::IsNotFound(call.status())) return call;
  }
  return absl::UnimplementedError(absl::StrCat(
      "No FFI handler registered: the custom call target '", site.target, "' is not registered for Shoal",
      site.op_name.empty() ? "" : absl::StrCat(" (", site.op_name, ")"),
      "; register it for platform cpu with jax.ffi.register_ffi_target before the program is compiled"));
}

}  // namespace shoal

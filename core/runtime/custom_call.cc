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

CustomCallRegistry& CustomCallRegistry::Get() {
  static auto* const registry = [] {
    auto* made = new CustomCallRegistry();
    made->Register(kRandomStateTarget, MakeRandomState);
    made->Register("dce_sink", [](const CustomCallSite&) { return std::make_unique<Sink>(); });
    return made;
  }();
  return *registry;
}

CustomCallRegistry::Impl& CustomCallRegistry::impl() const {
  static auto* const impl = new Impl();
  return *impl;
}

void CustomCallRegistry::Register(absl::string_view target, Factory factory) {
  std::lock_guard<std::mutex> lock(impl().mutex);
  impl().factories[std::string(target)] = std::move(factory);
}

void CustomCallRegistry::RegisterFallback(Factory factory) {
  std::lock_guard<std::mutex> lock(impl().mutex);
  impl().fallbacks.push_back(std::move(factory));
}

absl::StatusOr<std::unique_ptr<CustomCall>> CustomCallRegistry::Prepare(const CustomCallSite& site) const {
  std::vector<Factory> candidates;
  {
    std::lock_guard<std::mutex> lock(impl().mutex);
    const auto it = impl().factories.find(site.target);
    candidates = it == impl().factories.end() ? impl().fallbacks : std::vector<Factory>{it->second};
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

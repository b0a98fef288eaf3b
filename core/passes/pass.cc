#include "core/passes/pass.h"

#include <chrono>

#include "core/base/log.h"
#include "core/base/status.h"
#include "core/ops/verify.h"

namespace shoal {
namespace {

using Clock = std::chrono::steady_clock;

#ifdef NDEBUG
constexpr bool kVerify = false;
#else
constexpr bool kVerify = true;
#endif

}  // namespace

absl::StatusOr<bool> RunPasses(absl::Span<const Pass> passes, Module& module, const PassObserver& observer) {
  bool any = false;
  for (const Pass& pass : passes) {
    const Clock::time_point start = Clock::now();
    absl::StatusOr<bool> changed = pass.run(module);
    if (!changed.ok()) return Annotate(changed.status(), pass.name);
    SHOAL_LOG_AT(2) << module.name() << ": " << pass.name << (*changed ? " changed it, " : " found nothing, ")
                    << std::chrono::duration<double, std::micro>(Clock::now() - start).count() << " us";
    if (!*changed) continue;
    any = true;
    module.SortComputations();  // a text of HLO has callees first, a pass adds them last
    if (observer) observer(pass.name, module);
    if (!kVerify) continue;
    if (absl::Status status = Verify(module); !status.ok()) return Annotate(status, pass.name);
  }
  return any;
}

absl::StatusOr<bool> RunToFixpoint(absl::Span<const Pass> passes, Module& module, int max_rounds,
                                   const PassObserver& observer) {
  bool any = false;
  for (int round = 0; round < max_rounds; ++round) {
    SHOAL_ASSIGN_OR_RETURN(bool changed, RunPasses(passes, module, observer));
    if (!changed) return any;
    any = true;
  }
  return any;
}

}  // namespace shoal

// The state of StableHLO's rng, which has none of its own: a custom call without operands that gives two u64,
// other ones each time.
//
// Partitions that run the same program see the same states in the same order, in all processes: what is
// computed from them may be replicated or partitioned as anything else. Every process begins with the same
// ones, so that a job gives the same numbers again.
#pragma once

#include <memory>

#include "absl/strings/string_view.h"
#include "core/runtime/custom_call.h"

namespace shoal {

inline constexpr absl::string_view kRandomStateTarget = "shoal.random_state";

// The backend configuration tells the sites of a program apart.
std::unique_ptr<CustomCall> MakeRandomState(const CustomCallSite& site);

}  // namespace shoal

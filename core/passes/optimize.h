// Optimize: the passes between partitioning and fusion, in their order on one page (optimize.cc).
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "core/hlo/instruction.h"
#include "core/passes/pass.h"

namespace shoal {

// Before sharding propagation: what makes the program smaller without changing where values live.
absl::StatusOr<bool> Prepare(Module& module, const PassObserver& observer = nullptr);
// After partitioning. Leaves no calls, no opt-barriers, no operations without a kernel.
absl::StatusOr<bool> Optimize(Module& module, const PassObserver& observer = nullptr);

// Every pass by name, for tools and tests.
std::vector<Pass> AllPasses();

}  // namespace shoal

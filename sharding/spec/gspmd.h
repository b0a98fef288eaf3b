// Shardings between GSPMD's form (core/hlo/op_sharding.h) and ours.
#pragma once

#include "absl/status/statusor.h"
#include "core/hlo/op_sharding.h"
#include "core/hlo/sharding.h"

namespace shoal {

// REQUIRES: not a tuple. `rank` is the array's. Manual dimensions are treated as replicated.
absl::StatusOr<Sharding> FromOpSharding(const OpSharding& sharding, int64_t rank);
// A sharding without a mesh is replicated. Devices that no dimension is split over become one last dimension
// of type replicated.
OpSharding ToOpSharding(const Sharding& sharding);

}  // namespace shoal

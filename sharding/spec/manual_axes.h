// The axes of a manual region. It names those of its own shardings' mesh, which may be another than the
// program's (two `shard_map`s of one program over meshes with other names, or another shape); the partitioner
// wants the program's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/hlo/attributes.h"
#include "sharding/mesh/axes.h"

namespace shoal {

// As atoms of `mesh`. InvalidArgument if there is no such axis, Unimplemented if `mesh` does not have its
// devices in one axis or part of one.
absl::StatusOr<AxisList> ManualAxes(const ManualAttributes& attributes,
                                    const std::shared_ptr<const Mesh>& mesh);

// The other way: what a region over `mesh` says of `axes`.
std::vector<std::string> ManualAxisNames(const AxisList& axes, const Mesh& mesh);

}  // namespace shoal

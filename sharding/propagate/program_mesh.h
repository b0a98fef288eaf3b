// The meshes that a program names, and the one that it is partitioned over.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "core/hlo/instruction.h"

namespace shoal {

// InvalidArgument if a mesh of a sharding has a device twice, or one that the program's partitions do not.
absl::Status CheckMeshes(const Module& module);

// The first mesh of num_partitions devices that a manual computation, parameter, result or constraint names;
// a mesh of one axis "devices" if there is none.
std::shared_ptr<const Mesh> ProgramMesh(const Module& module);

}  // namespace shoal

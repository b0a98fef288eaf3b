// The one mesh that a program is partitioned over.
#pragma once

#include <memory>

#include "core/hlo/instruction.h"

namespace shoal {

// The first mesh of num_partitions devices that a manual computation, parameter, result or constraint names;
// a mesh of one axis "devices" if there is none.
std::shared_ptr<const Mesh> ProgramMesh(const Module& module);

}  // namespace shoal

// Reshard plans as HLO.
#pragma once

#include "core/hlo/instruction.h"
#include "sharding/reshard/local_builder.h"
#include "sharding/reshard/plan.h"

namespace shoal {

// `x` holds this device's part of an array of shape `global` in layout plan.from; the result is its part in
// plan.to. `combiner` combines partial results. Data stays among devices with the same coordinates along
// `fixed`.
Instruction* EmitReshard(LocalBuilder& builder, Instruction* x, const Shape& global, const ReshardPlan& plan,
                         Opcode combiner = Opcode::kAdd, const AxisList& fixed = {});

// Between layouts over different meshes, neither with partial sums: a permute where both split alike,
// otherwise everything is gathered and cut.
Instruction* EmitBetweenMeshes(LocalBuilder& builder, Instruction* x, const Shape& global,
                               const Mesh& from_mesh, const Layout& from, const Mesh& to_mesh,
                               const Layout& to);

}  // namespace shoal

// TensorState: what propagation knows of one array so far.
#pragma once

#include <vector>

#include "core/hlo/sharding.h"
#include "core/types/shape.h"

namespace shoal {

struct TensorState {
  Shape shape;
  std::vector<DimSharding> dims;  // axes as atoms
  AxisList unusable;  // atoms that no dimension may take: explicitly replicated, unreduced, manual
  // A value that is made anew for each use with whatever sharding the use wants (constants, iota, broadcast
  // scalars): it neither gives nor takes shardings, so unrelated uses do not infect each other.
  bool rematerialized = false;

  // Atoms of all dimensions and the unusable ones.
  AxisList Taken() const;
};

// No axes, every dimension open.
TensorState OpenState(Shape shape);

}  // namespace shoal

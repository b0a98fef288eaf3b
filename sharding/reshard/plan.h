// ReshardPlan: the cheapest chain of collectives that takes one array from one layout to another over the
// same mesh, as a value. reshard/emit turns it into HLO.
//
//   all-slice       a dimension is split further; no traffic
//   all-gather      the minor axes of a dimension are gathered
//   all-to-all      the minor axes of one dimension move to another
//   permute         whole parts move to other devices; each part's size stays
//   all-reduce, reduce-scatter    partial sums are combined
//
//   from [{x},{y}] to [{y},{x}], x=4, y=2:   permute to [{y,x:(2)2},{x:(1)2}], then all-to-all x:(2)2 0->1
//
// Cost: bytes that one device sends under the ring model, and a little for every step. The search is over all
// chains (Dijkstra over layouts), so it finds the best, within a bound on its work. Axes are cut only as the
// two layouts need it (coarsen.h).
#pragma once

#include <string>
#include <vector>

#include "core/hlo/sharding.h"
#include "core/types/shape.h"
#include "sharding/spec/layout.h"

namespace shoal {

enum class ReshardStepKind : uint8_t { kSlice, kGather, kAllToAll, kPermute, kAllReduce, kReduceScatter };

struct ReshardStep {
  ReshardStepKind kind = ReshardStepKind::kSlice;
  AxisList axes;    // atoms: appended (slice, reduce-scatter), taken away (gather, all-reduce), moved
  int dim = -1;     // slice, gather, reduce-scatter; all-to-all: from here ...
  int to_dim = -1;  // ... to here
  Layout after;
};

struct ReshardPlan {
  Layout from, to;
  std::vector<ReshardStep> steps;
  double cost = 0;   // bytes sent a device, and the price of the steps
  double bytes = 0;  // bytes sent a device
  int visits = 0;    // layouts that the search looked at
};

// Layouts hold atoms of `mesh`. `to.partial` must be a part of `from.partial`. Sub-arrays are exchanged only
// between devices that have the same coordinates along `fixed` (the manual axes). Thread-safe; remembers
// plans.
ReshardPlan PlanReshard(const Mesh& mesh, const Shape& shape, const Layout& from, const Layout& to,
                        const AxisList& fixed = {});

// "f32[8,8] [{x}, {}] -> [{}, {x}]: all-to-all {x} 0->1; 128 bytes".
std::string ToString(const ReshardPlan& plan, const Mesh& mesh);

}  // namespace shoal

// Layout: a sharding of one array over a known mesh, as the partitioner computes with it: prime atoms on each
// dimension, and the atoms over which partial sums are still to be combined. And what a layout means: local
// sizes.
//
// A dimension of size n in k parts: every part is ceil(n/k) long and part i begins at i*ceil(n/k). Past the
// end of the array a part holds rubbish ("padding"), which whoever reduces over it must mask.
//
//   n=5, k=4: local size 2, parts [0,2) [2,4) [4,5)+1 rubbish, 2 rubbish
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/hlo/sharding.h"
#include "core/types/shape.h"

namespace shoal {

struct Layout {
  std::vector<AxisList> dims;  // atoms, major to minor
  AxisList partial;            // atoms, sorted

  static Layout Replicated(int64_t rank) { return Layout{std::vector<AxisList>(rank), {}}; }
  // All atoms that the dimensions use.
  AxisList Used() const;
  friend bool operator==(const Layout&, const Layout&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Layout& l) {
    return H::combine(std::move(h), l.dims, l.partial);
  }
};

// Drops openness, priorities and explicit replication. A sharding with no mesh, or a maximal one, is
// replicated: what a single device would hold, all hold.
Layout LayoutOf(const Sharding& sharding, int64_t rank);
// What is left of a layout where arrays are local along `manual` already.
Layout WithoutAxes(const Layout& layout, const AxisList& manual);
// Closed dimensions, merged axes.
Sharding ToSharding(const Layout& layout, std::shared_ptr<const Mesh> mesh);
std::string ToString(const Layout& layout, const Mesh& mesh);

int64_t LocalSize(int64_t size, int64_t parts);
// Whether parts of a dimension split `major` ways that are split `minor` ways further begin where those of
// major*minor ways do: otherwise ceil(n/ab)*b != ceil(n/a), and values have to move.
bool SplitAligns(int64_t size, int64_t major, int64_t minor);
Shape LocalShape(const Shape& global, const Layout& layout);

}  // namespace shoal

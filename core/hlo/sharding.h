// Mesh and Sharding: how an array is spread over devices, in Shardy's model: axes of a mesh on dimensions.
// Values.
//
//   mesh <["x"=4, "y"=2]>; a Sharding [{x}, {y}] of f32[8,6] gives each device f32[2,3]; [{}, {x,y}] splits
//   dimension 1 by 8 with x the major part. Sub-axis x:(2)2 is the part of x of size 2 inside a part of size
//   2: a part (pre_size, size) of an axis enumerates (index / (axis_size / (pre_size*size))) % size.
//
// sharding/spec holds the algebra and the sdy and GSPMD text forms; here are only the values that annotate
// IR.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"

namespace shoal {

struct MeshAxis {
  std::string name;
  int64_t size = 1;
  friend bool operator==(const MeshAxis&, const MeshAxis&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const MeshAxis& a) {
    return H::combine(std::move(h), a.name, a.size);
  }
};

struct Mesh {
  std::string name;
  std::vector<MeshAxis> axes;
  // Partition (logical device) at each position, row-major over the axes; empty: 0, 1, 2, ... A mesh without
  // axes and with one id is "maximal": everything on that device.
  std::vector<int64_t> device_ids;

  int64_t device_count() const {
    int64_t n = 1;
    for (const MeshAxis& axis : axes) n *= axis.size;
    return n;
  }
  bool IsMaximal() const { return axes.empty() && device_ids.size() == 1; }
  // -1 if there is none of that name.
  int AxisIndex(absl::string_view axis_name) const {
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i].name == axis_name) return static_cast<int>(i);
    }
    return -1;
  }
  // Names do not matter for equality of placement, axes and order do.
  friend bool operator==(const Mesh& a, const Mesh& b) {
    return a.axes == b.axes && a.device_ids == b.device_ids;
  }
  template <typename H>
  friend H AbslHashValue(H h, const Mesh& m) {
    return H::combine(std::move(h), m.axes, m.device_ids);
  }
};

// An axis of the mesh, or a part of one.
struct AxisRef {
  int axis = 0;          // index into Mesh::axes
  int64_t pre_size = 1;  // product of the sizes of the parts before this one
  int64_t size = 1;      // of this part; the whole axis: pre_size 1, size of the axis
  friend bool operator==(const AxisRef&, const AxisRef&) = default;
  friend auto operator<=>(const AxisRef&, const AxisRef&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const AxisRef& a) {
    return H::combine(std::move(h), a.axis, a.pre_size, a.size);
  }
};
using AxisList = absl::InlinedVector<AxisRef, 2>;  // major to minor

struct DimSharding {
  AxisList axes;
  bool open = false;  // propagation may add axes after these
  int priority = 0;   // 0 first, as in sdy's p0, p1, ...
  friend bool operator==(const DimSharding&, const DimSharding&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const DimSharding& d) {
    return H::combine(std::move(h), d.axes, d.open, d.priority);
  }
};

struct Sharding {
  std::shared_ptr<const Mesh> mesh;
  std::vector<DimSharding> dims;  // one a dimension of the array
  AxisList replicated;            // axes that must stay unused
  AxisList unreduced;             // axes over which partial sums are still to be added

  friend bool operator==(const Sharding& a, const Sharding& b) {
    return (a.mesh == b.mesh || (a.mesh && b.mesh && *a.mesh == *b.mesh)) && a.dims == b.dims &&
           a.replicated == b.replicated && a.unreduced == b.unreduced;
  }
  template <typename H>
  friend H AbslHashValue(H h, const Sharding& s) {
    if (s.mesh) h = H::combine(std::move(h), *s.mesh);
    return H::combine(std::move(h), s.dims, s.replicated, s.unreduced);
  }
};

// "{mesh<[x=4,y=2]>, [{x}, {y:(2)2, ?}], replicated={z}}", for dumps and messages.
std::string ToString(const Mesh& mesh);
std::string ToString(const Sharding& sharding);

}  // namespace shoal

#include "sharding/spec/layout.h"

#include <algorithm>
#include <utility>

#include "sharding/mesh/axes.h"

namespace shoal {

AxisList Layout::Used() const {
  AxisList used;
  for (const AxisList& axes : dims) used.insert(used.end(), axes.begin(), axes.end());
  return used;
}

Layout LayoutOf(const Sharding& sharding, int64_t rank) {
  Layout layout = Layout::Replicated(rank);
  if (sharding.mesh == nullptr || sharding.mesh->IsMaximal()) return layout;
  for (size_t d = 0; d < layout.dims.size() && d < sharding.dims.size(); ++d) {
    layout.dims[d] = Atoms(sharding.dims[d].axes);
  }
  layout.partial = Atoms(sharding.unreduced);
  std::sort(layout.partial.begin(), layout.partial.end());
  return layout;
}

Layout WithoutAxes(const Layout& layout, const AxisList& manual) {
  Layout rest;
  for (const AxisList& axes : layout.dims) rest.dims.push_back(Without(axes, manual));
  rest.partial = Without(layout.partial, manual);
  return rest;
}

Sharding ToSharding(const Layout& layout, std::shared_ptr<const Mesh> mesh) {
  Sharding sharding;
  sharding.mesh = std::move(mesh);
  for (const AxisList& axes : layout.dims) sharding.dims.push_back(DimSharding{Merged(axes)});
  sharding.unreduced = Merged(layout.partial);
  return sharding;
}

std::string ToString(const Layout& layout, const Mesh& mesh) {
  return ToString(ToSharding(layout, std::make_shared<const Mesh>(mesh)));
}

int64_t LocalSize(int64_t size, int64_t parts) { return (size + parts - 1) / parts; }

bool SplitAligns(int64_t size, int64_t major, int64_t minor) {
  return major == 1 || LocalSize(size, major) == minor * LocalSize(size, major * minor);
}

Shape LocalShape(const Shape& global, const Layout& layout) {
  if (!global.IsArray()) return global;
  DimVector dims(global.dims().begin(), global.dims().end());
  for (size_t d = 0; d < dims.size(); ++d) dims[d] = LocalSize(dims[d], SizeOf(layout.dims[d]));
  return global.WithDims(dims);
}

}  // namespace shoal

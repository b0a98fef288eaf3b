#include "sharding/mesh/devices.h"

#include <numeric>

#include "absl/container/btree_map.h"

namespace shoal {
namespace {

// Elements of position space between neighbours along the axis itself.
int64_t Stride(const Mesh& mesh, int axis) {
  int64_t stride = 1;
  for (size_t i = axis + 1; i < mesh.axes.size(); ++i) stride *= mesh.axes[i].size;
  return stride;
}

}  // namespace

std::vector<int64_t> Devices(const Mesh& mesh) {
  if (!mesh.device_ids.empty()) return mesh.device_ids;
  std::vector<int64_t> ids(mesh.device_count());
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

std::vector<int64_t> Positions(const Mesh& mesh) {
  const std::vector<int64_t> devices = Devices(mesh);
  std::vector<int64_t> positions(devices.size(), -1);
  for (size_t i = 0; i < devices.size(); ++i) {
    if (devices[i] >= static_cast<int64_t>(positions.size())) positions.resize(devices[i] + 1, -1);
    positions[devices[i]] = static_cast<int64_t>(i);
  }
  return positions;
}

int64_t Coordinate(const Mesh& mesh, int64_t position, const AxisRef& ref) {
  const int64_t on_axis = position / Stride(mesh, ref.axis) % mesh.axes[ref.axis].size;
  const int64_t minor = mesh.axes[ref.axis].size / (ref.pre_size * ref.size);
  return on_axis / minor % ref.size;
}

int64_t Coordinate(const Mesh& mesh, int64_t position, const AxisList& list) {
  int64_t coordinate = 0;
  for (const AxisRef& ref : list) coordinate = coordinate * ref.size + Coordinate(mesh, position, ref);
  return coordinate;
}

Groups GroupsAlong(const Mesh& mesh, const AxisList& axes) {
  const std::vector<int64_t> devices = Devices(mesh);
  const int64_t size = [&] {
    int64_t n = 1;
    for (const AxisRef& ref : axes) n *= ref.size;
    return n;
  }();
  // A group is known by the first of its positions: the one whose coordinates along `axes` are all 0.
  absl::btree_map<int64_t, std::vector<int64_t>> groups;
  for (int64_t position = 0; position < static_cast<int64_t>(devices.size()); ++position) {
    int64_t first = position;
    for (const AxisRef& ref : axes) {
      const int64_t minor = mesh.axes[ref.axis].size / (ref.pre_size * ref.size);
      first -= Coordinate(mesh, position, ref) * minor * Stride(mesh, ref.axis);
    }
    std::vector<int64_t>& group = groups[first];
    group.resize(size);
    group[Coordinate(mesh, position, axes)] = devices[position];
  }
  Groups result;
  for (auto& [first, group] : groups) result.push_back(std::move(group));
  return result;
}

}  // namespace shoal

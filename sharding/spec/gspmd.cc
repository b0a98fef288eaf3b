#include "sharding/spec/gspmd.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "core/types/shape.h"
#include "sharding/mesh/axes.h"
#include "sharding/mesh/devices.h"

namespace shoal {
namespace {

// iota dimensions in mesh order and where each stands in `order`, which lists all atoms of the mesh.
void SetIota(const Mesh& mesh, const AxisList& order, OpSharding& result) {
  AxisList sorted = Merged(order);
  const AxisList merged = sorted;
  std::sort(sorted.begin(), sorted.end());
  for (const AxisRef& ref : sorted) result.reshape_dims.push_back(ref.size);
  for (const AxisRef& ref : merged) {
    result.transpose.push_back(
        static_cast<int>(std::find(sorted.begin(), sorted.end(), ref) - sorted.begin()));
  }
  if (std::is_sorted(result.transpose.begin(), result.transpose.end())) {
    result.reshape_dims = {mesh.device_count()};
    result.transpose = {0};
  }
}

}  // namespace

absl::StatusOr<Sharding> FromOpSharding(const OpSharding& sharding, int64_t rank) {
  Sharding result;
  result.dims.resize(rank);
  auto mesh = std::make_shared<Mesh>();
  if (sharding.type == OpSharding::Type::kMaximal) {
    mesh->device_ids = sharding.devices;
    result.mesh = std::move(mesh);
    return result;
  }
  if (sharding.type != OpSharding::Type::kOther) return result;
  const int64_t tiled = static_cast<int64_t>(sharding.tile_dims.size() - sharding.last_tile_dims.size());
  if (tiled != rank) {
    return absl::InvalidArgumentError(absl::StrCat("sharding ", ToGspmdText(sharding), " tiles ", tiled,
                                                   " dimensions of an array that has ", rank));
  }
  mesh->name = "gspmd";
  for (size_t d = 0; d < sharding.tile_dims.size(); ++d) {
    mesh->axes.push_back({absl::StrCat("d", d), sharding.tile_dims[d]});
  }
  mesh->device_ids = DevicesOf(sharding);
  for (size_t d = 0; d < sharding.tile_dims.size(); ++d) {
    const AxisRef whole = WholeAxis(*mesh, static_cast<int>(d));
    if (whole.size == 1) continue;
    if (static_cast<int64_t>(d) < rank) {
      result.dims[d].axes = {whole};
    } else if (sharding.last_tile_dims[d - rank] == OpSharding::Type::kUnreduced) {
      result.unreduced.push_back(whole);
    }
  }
  std::vector<int64_t> iota(mesh->device_ids.size());
  std::iota(iota.begin(), iota.end(), 0);
  if (mesh->device_ids == iota) mesh->device_ids.clear();
  result.mesh = std::move(mesh);
  return result;
}

OpSharding ToOpSharding(const Sharding& sharding) {
  OpSharding result;
  if (sharding.mesh == nullptr) return result;
  const Mesh& mesh = *sharding.mesh;
  if (mesh.IsMaximal()) {
    result.type = OpSharding::Type::kMaximal;
    result.devices = mesh.device_ids;
    return result;
  }
  AxisList order, all;
  for (const DimSharding& dim : sharding.dims) {
    const AxisList atoms = Atoms(dim.axes);
    result.tile_dims.push_back(SizeOf(atoms));
    order = Concat(order, atoms);
  }
  for (int axis = 0; axis < static_cast<int>(mesh.axes.size()); ++axis) all.push_back(WholeAxis(mesh, axis));
  const AxisList unreduced = Atoms(sharding.unreduced);
  const AxisList rest = Without(Without(Atoms(all), order), unreduced);
  if (order.empty() && unreduced.empty()) return result;
  result.type = OpSharding::Type::kOther;
  auto add_last = [&](const AxisList& axes, OpSharding::Type type) {
    if (axes.empty()) return;
    result.tile_dims.push_back(SizeOf(axes));
    result.last_tile_dims.push_back(type);
    order = Concat(order, axes);
  };
  add_last(unreduced, OpSharding::Type::kUnreduced);
  add_last(rest, OpSharding::Type::kReplicated);
  if (mesh.device_ids.empty()) {
    SetIota(mesh, order, result);
    return result;
  }
  std::vector<int64_t> by_order(mesh.device_count());
  const std::vector<int64_t> devices = Devices(mesh);
  for (int64_t position = 0; position < mesh.device_count(); ++position) {
    by_order[Coordinate(mesh, position, order)] = devices[position];
  }
  result.devices = std::move(by_order);
  return result;
}

}  // namespace shoal

#include "sharding/spec/rebase.h"

#include <vector>

#include "sharding/mesh/axes.h"
#include "sharding/mesh/devices.h"

namespace shoal {
namespace {

AxisList AllAtoms(const Mesh& mesh) {
  AxisList all;
  for (int axis = 0; axis < static_cast<int>(mesh.axes.size()); ++axis) all.push_back(WholeAxis(mesh, axis));
  return Atoms(all);
}

// Positions of `mesh` from one coordinate of `atom` to the next.
int64_t StrideOf(const Mesh& mesh, const AxisRef& atom) {
  int64_t stride = mesh.axes[atom.axis].size / (atom.pre_size * atom.size);
  for (size_t i = atom.axis + 1; i < mesh.axes.size(); ++i) stride *= mesh.axes[i].size;
  return stride;
}

// For each atom of `from` the atom of `to` that enumerates the same devices. Every device's position in `to`
// must be the sum of its coordinates in `from` times the strides of those atoms.
std::optional<std::vector<std::pair<AxisRef, AxisRef>>> MatchAtoms(const Mesh& from, const Mesh& to) {
  const std::vector<int64_t> devices = Devices(from), positions = Positions(to);
  if (devices.size() != positions.size()) return std::nullopt;
  std::vector<int64_t> moved;  // position in `from` -> position in `to`
  for (int64_t device : devices) {
    if (device < 0 || device >= static_cast<int64_t>(positions.size()) || positions[device] < 0)
      return std::nullopt;
    moved.push_back(positions[device]);
  }
  if (moved.empty() || moved[0] != 0) return std::nullopt;
  std::vector<std::pair<AxisRef, AxisRef>> matches;
  const AxisList targets = AllAtoms(to);
  for (const AxisRef& atom : AllAtoms(from)) {
    const int64_t stride = moved[StrideOf(from, atom)];
    bool found = false;
    for (const AxisRef& target : targets) {
      if (target.size != atom.size || StrideOf(to, target) != stride) continue;
      matches.emplace_back(atom, target);
      found = true;
      break;
    }
    if (!found) return std::nullopt;
  }
  for (size_t position = 0; position < moved.size(); ++position) {
    int64_t expected = 0;
    for (const auto& [atom, target] : matches) {
      expected += Coordinate(from, static_cast<int64_t>(position), atom) * StrideOf(to, target);
    }
    if (expected != moved[position]) return std::nullopt;
  }
  return matches;
}

}  // namespace

std::optional<Sharding> Rebase(const Sharding& sharding, const std::shared_ptr<const Mesh>& mesh) {
  Sharding result = sharding;
  result.mesh = mesh;
  if (sharding.mesh == nullptr || sharding.mesh->IsMaximal() || sharding.mesh->axes.empty()) {
    for (DimSharding& dim : result.dims) dim.axes.clear();
    result.replicated.clear();
    result.unreduced.clear();
    return result;
  }
  if (sharding.mesh == mesh || *sharding.mesh == *mesh) return result;
  const auto matches = MatchAtoms(*sharding.mesh, *mesh);
  if (!matches) return std::nullopt;
  bool all_found = true;
  auto translate = [&](AxisList& list) {
    AxisList translated;
    for (const AxisRef& atom : Atoms(list)) {
      bool found = false;
      for (const auto& [from, to] : *matches) {
        if (from == atom) translated.push_back(to), found = true;
      }
      all_found &= found;
    }
    list = Merged(translated);
  };
  for (DimSharding& dim : result.dims) translate(dim.axes);
  translate(result.replicated);
  translate(result.unreduced);
  if (!all_found) return std::nullopt;
  return result;
}

}  // namespace shoal

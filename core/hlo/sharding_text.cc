#include "core/hlo/sharding_text.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status.h"

namespace shoal {
std::string AxisText(const Mesh* mesh, const AxisRef& ref) {
  if (mesh == nullptr || ref.axis < 0 || ref.axis >= static_cast<int>(mesh->axes.size())) return "?axis";
  const MeshAxis& axis = mesh->axes[ref.axis];
  if (ref.pre_size == 1 && ref.size == axis.size) return axis.name;
  return absl::StrCat(axis.name, ":(", ref.pre_size, ")", ref.size);
}

absl::StatusOr<AxisRef> ReadAxis(const Mesh* mesh, TextCursor& cursor) {
  const size_t place = cursor.position();
  SHOAL_ASSIGN_OR_RETURN(std::string name, cursor.Name());
  AxisRef ref;
  ref.axis = mesh != nullptr ? mesh->AxisIndex(name) : -1;
  if (ref.axis < 0) return cursor.BadAt(place, absl::StrCat("no axis \"", name, "\" in the mesh"));
  const int64_t axis_size = mesh->axes[ref.axis].size;
  ref.size = axis_size;
  if (cursor.PeekHere() != ':') return ref;
  cursor.Eat(':');
  SHOAL_RETURN_IF_ERROR(cursor.Expect('('));
  SHOAL_ASSIGN_OR_RETURN(ref.pre_size, cursor.Int());
  SHOAL_RETURN_IF_ERROR(cursor.Expect(')'));
  SHOAL_ASSIGN_OR_RETURN(ref.size, cursor.Int());
  const bool fits = ref.pre_size >= 1 && ref.size >= 1 && ref.pre_size <= axis_size &&
                    ref.size <= axis_size && axis_size % (ref.pre_size * ref.size) == 0;
  if (!fits) return cursor.BadAt(place, "a sub-axis does not divide its axis");
  return ref;
}

namespace {

constexpr int64_t kMaxAxisSize = int64_t{1} << 31;

// "{x,y}"
absl::Status ReadAxes(const Mesh* mesh, TextCursor& cursor, AxisList& axes) {
  SHOAL_RETURN_IF_ERROR(cursor.Expect('{'));
  if (cursor.Eat('}')) return absl::OkStatus();
  do {
    SHOAL_ASSIGN_OR_RETURN(AxisRef ref, ReadAxis(mesh, cursor));
    axes.push_back(ref);
  } while (cursor.Eat(','));
  return cursor.Expect('}');
}

// "{x,?}p1"
absl::StatusOr<DimSharding> ReadDim(const Mesh* mesh, TextCursor& cursor) {
  DimSharding dim;
  SHOAL_RETURN_IF_ERROR(cursor.Expect('{'));
  while (!cursor.Eat('}')) {
    if (dim.open || !dim.axes.empty()) SHOAL_RETURN_IF_ERROR(cursor.Expect(','));
    if (dim.open) return cursor.Bad("'?' comes last");
    if (cursor.Eat('?')) {
      dim.open = true;
      continue;
    }
    SHOAL_ASSIGN_OR_RETURN(AxisRef ref, ReadAxis(mesh, cursor));
    dim.axes.push_back(ref);
  }
  if (cursor.PeekHere() == 'p') {
    cursor.Eat('p');
    SHOAL_ASSIGN_OR_RETURN(int64_t priority, cursor.Int());
    if (priority < 0 || priority > 1 << 20) return cursor.Bad("bad priority");
    dim.priority = static_cast<int>(priority);
  }
  return dim;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Mesh>> ShardingReader::ReadMesh(TextCursor& cursor) {
  if (cursor.Eat("no mesh")) return nullptr;
  if (!cursor.Eat("mesh<[")) return cursor.Bad("expected \"mesh<[\"");
  Mesh mesh;
  int64_t devices = 1;
  while (!cursor.Eat(']')) {
    if (!mesh.axes.empty()) SHOAL_RETURN_IF_ERROR(cursor.Expect(','));
    MeshAxis axis;
    SHOAL_ASSIGN_OR_RETURN(axis.name, cursor.Name());
    SHOAL_RETURN_IF_ERROR(cursor.Expect('='));
    SHOAL_ASSIGN_OR_RETURN(axis.size, cursor.Int());
    if (axis.size < 1 || axis.size > kMaxAxisSize / devices) return cursor.Bad("bad axis size");
    devices *= axis.size;
    mesh.axes.push_back(std::move(axis));
  }
  if (cursor.Eat(", devices=[")) {
    do {
      SHOAL_ASSIGN_OR_RETURN(int64_t id, cursor.Int());
      mesh.device_ids.push_back(id);
    } while (cursor.Eat(','));
    SHOAL_RETURN_IF_ERROR(cursor.Expect(']'));
    if (static_cast<int64_t>(mesh.device_ids.size()) != devices)
      return cursor.Bad(
          absl::StrCat("the mesh has ", devices, " positions but ", mesh.device_ids.size(), " devices"));
  }
  SHOAL_RETURN_IF_ERROR(cursor.Expect('>'));
  for (const auto& known : meshes_) {
    if (*known == mesh) return known;
  }
  meshes_.push_back(std::make_shared<const Mesh>(std::move(mesh)));
  return meshes_.back();
}

absl::StatusOr<Sharding> ShardingReader::Read(TextCursor& cursor) {
  Sharding sharding;
  SHOAL_RETURN_IF_ERROR(cursor.Expect('{'));
  SHOAL_ASSIGN_OR_RETURN(sharding.mesh, ReadMesh(cursor));
  const Mesh* mesh = sharding.mesh.get();
  if (!cursor.Eat(", [")) return cursor.Bad("expected \", [\"");
  while (!cursor.Eat(']')) {
    if (!sharding.dims.empty()) SHOAL_RETURN_IF_ERROR(cursor.Expect(','));
    SHOAL_ASSIGN_OR_RETURN(DimSharding dim, ReadDim(mesh, cursor));
    sharding.dims.push_back(std::move(dim));
  }
  if (cursor.Eat(", replicated=")) SHOAL_RETURN_IF_ERROR(ReadAxes(mesh, cursor, sharding.replicated));
  if (cursor.Eat(", unreduced=")) SHOAL_RETURN_IF_ERROR(ReadAxes(mesh, cursor, sharding.unreduced));
  SHOAL_RETURN_IF_ERROR(cursor.Expect('}'));
  return sharding;
}

absl::StatusOr<std::vector<Sharding>> ShardingReader::ReadList(TextCursor& cursor) {
  std::vector<Sharding> shardings;
  TextCursor ahead = cursor;
  SHOAL_RETURN_IF_ERROR(ahead.Expect('{'));
  if (ahead.Peek() != '{' && ahead.Peek() != '}') {
    SHOAL_ASSIGN_OR_RETURN(Sharding only, Read(cursor));
    shardings.push_back(std::move(only));
    return shardings;
  }
  cursor = ahead;
  while (!cursor.Eat('}')) {
    if (!shardings.empty()) SHOAL_RETURN_IF_ERROR(cursor.Expect(','));
    SHOAL_ASSIGN_OR_RETURN(Sharding one, Read(cursor));
    shardings.push_back(std::move(one));
  }
  return shardings;
}

std::string ShardingListText(const std::vector<Sharding>& shardings) {
  if (shardings.size() == 1) return ToString(shardings[0]);
  return absl::StrCat(
      "{",
      absl::StrJoin(shardings, ", ", [](std::string* out, const Sharding& s) { out->append(ToString(s)); }),
      "}");
}

}  // namespace shoal

#include "core/hlo/sharding.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/hlo/sharding_text.h"

namespace shoal {
namespace {

std::string AxesText(const Mesh* mesh, const AxisList& axes) {
  return absl::StrJoin(
      axes, ",", [&](std::string* out, const AxisRef& ref) { absl::StrAppend(out, AxisText(mesh, ref)); });
}

}  // namespace

std::string ToString(const Mesh& mesh) {
  std::string text = absl::StrCat("mesh<[",
                                  absl::StrJoin(mesh.axes, ",",
                                                [](std::string* out, const MeshAxis& axis) {
                                                  absl::StrAppend(out, axis.name, "=", axis.size);
                                                }),
                                  "]");
  if (!mesh.device_ids.empty())
    absl::StrAppend(&text, ", devices=[", absl::StrJoin(mesh.device_ids, ","), "]");
  return text + ">";
}

std::string ToString(const Sharding& sharding) {
  const Mesh* mesh = sharding.mesh.get();
  std::string text = absl::StrCat("{", mesh ? ToString(*mesh) : "no mesh", ", [");
  for (size_t i = 0; i < sharding.dims.size(); ++i) {
    const DimSharding& dim = sharding.dims[i];
    absl::StrAppend(&text, i ? ", {" : "{", AxesText(mesh, dim.axes),
                    dim.open ? dim.axes.empty() ? "?" : ",?" : "", "}",
                    dim.priority ? absl::StrCat("p", dim.priority) : "");
  }
  text += ']';
  if (!sharding.replicated.empty())
    absl::StrAppend(&text, ", replicated={", AxesText(mesh, sharding.replicated), "}");
  if (!sharding.unreduced.empty())
    absl::StrAppend(&text, ", unreduced={", AxesText(mesh, sharding.unreduced), "}");
  return text + "}";
}

}  // namespace shoal

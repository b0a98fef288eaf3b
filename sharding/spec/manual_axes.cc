#include "sharding/spec/manual_axes.h"

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/hlo/sharding_text.h"
#include "sharding/spec/rebase.h"

namespace shoal {
namespace {

// Of the first sharding that has one, else `otherwise`.
std::shared_ptr<const Mesh> OwnMesh(const ManualAttributes& attributes,
                                    const std::shared_ptr<const Mesh>& otherwise) {
  for (const auto* shardings : {&attributes.in_shardings, &attributes.out_shardings}) {
    for (const Sharding& sharding : *shardings) {
      if (sharding.mesh != nullptr && !sharding.mesh->axes.empty()) return sharding.mesh;
    }
  }
  return otherwise;
}

}  // namespace

absl::StatusOr<AxisList> ManualAxes(const ManualAttributes& attributes,
                                    const std::shared_ptr<const Mesh>& mesh) {
  Sharding own;
  own.mesh = OwnMesh(attributes, mesh);
  for (const std::string& name : attributes.manual_axes) {
    TextCursor cursor(name);
    SHOAL_ASSIGN_OR_RETURN(const AxisRef axis, ReadAxis(own.mesh.get(), cursor));
    own.replicated.push_back(axis);
  }
  const std::optional<Sharding> here = Rebase(own, mesh);
  if (!here) {
    return absl::UnimplementedError(absl::StrCat("its mesh ", ToString(*own.mesh),
                                                 " does not fit the program's ", ToString(*mesh),
                                                 ": give both the same devices in the same order"));
  }
  return Atoms(here->replicated);
}

std::vector<std::string> ManualAxisNames(const AxisList& axes, const Mesh& mesh) {
  std::vector<std::string> names;
  for (const AxisRef& axis : Merged(axes)) names.push_back(AxisText(&mesh, axis));
  return names;
}

}  // namespace shoal

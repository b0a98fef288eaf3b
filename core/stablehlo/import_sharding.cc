#include "core/stablehlo/import_sharding.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace shoal {
namespace {

absl::Status Wrong(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("a sharding: ", what));
}

absl::StatusOr<const MlirAttribute*> Parameter(const MlirAttribute& record, absl::string_view name) {
  const MlirAttribute* value = record.Find(name);
  if (value == nullptr)
    return Wrong(absl::StrCat("the parameter ", name, " of ", record.text, " is missing"));
  return value;
}

absl::Status ExpectRecord(const MlirAttribute& attribute, absl::string_view name) {
  if (attribute.kind == MlirAttributeKind::kRecord && attribute.text == name) return absl::OkStatus();
  return Wrong(absl::StrCat(ToString(attribute), " is not a ", name));
}

absl::StatusOr<AxisRef> AxisOf(const MlirAttribute& attribute, const Mesh& mesh) {
  SHOAL_RETURN_IF_ERROR(ExpectRecord(attribute, "sdy.axis_ref"));
  SHOAL_ASSIGN_OR_RETURN(const MlirAttribute* name, Parameter(attribute, "name"));
  AxisRef ref;
  ref.axis = mesh.AxisIndex(name->text);
  if (ref.axis < 0) return Wrong(absl::StrCat("the mesh @", mesh.name, " has no axis \"", name->text, "\""));
  const int64_t whole = mesh.axes[ref.axis].size;
  ref.size = whole;
  const MlirAttribute* sub = attribute.Find("sub_axis_info");
  if (sub == nullptr) return ref;
  SHOAL_ASSIGN_OR_RETURN(const MlirAttribute* pre_size, Parameter(*sub, "pre_size"));
  SHOAL_ASSIGN_OR_RETURN(const MlirAttribute* size, Parameter(*sub, "size"));
  ref.pre_size = pre_size->integer;
  ref.size = size->integer;
  if (ref.pre_size < 1 || ref.size < 1 || whole % ref.pre_size != 0 || whole / ref.pre_size % ref.size != 0) {
    return Wrong(absl::StrCat("the part (", ref.pre_size, ")", ref.size, " of the axis \"", name->text,
                              "\" of size ", whole));
  }
  return ref;
}

absl::StatusOr<AxisList> AxesOf(const MlirAttribute& list, const Mesh& mesh) {
  AxisList axes;
  for (const MlirAttribute* element : list.elements) {
    SHOAL_ASSIGN_OR_RETURN(AxisRef ref, AxisOf(*element, mesh));
    axes.push_back(ref);
  }
  return axes;
}

absl::StatusOr<DimSharding> DimensionOf(const MlirAttribute& attribute, const Mesh& mesh) {
  SHOAL_RETURN_IF_ERROR(ExpectRecord(attribute, "sdy.dimension_sharding"));
  DimSharding dim;
  SHOAL_ASSIGN_OR_RETURN(const MlirAttribute* axes, Parameter(attribute, "axes"));
  SHOAL_ASSIGN_OR_RETURN(const MlirAttribute* closed, Parameter(attribute, "is_closed"));
  SHOAL_ASSIGN_OR_RETURN(dim.axes, AxesOf(*axes, mesh));
  dim.open = closed->integer == 0;
  if (const MlirAttribute* priority = attribute.Find("priority"))
    dim.priority = static_cast<int>(priority->integer);
  return dim;
}

// The factors of every dimension of every array.
absl::StatusOr<std::vector<Groups>> MappingsOf(const MlirAttribute& rule, absl::string_view name) {
  SHOAL_ASSIGN_OR_RETURN(const MlirAttribute* arrays, Parameter(rule, name));
  std::vector<Groups> mappings;
  for (const MlirAttribute* array : arrays->elements) {
    SHOAL_RETURN_IF_ERROR(ExpectRecord(*array, "sdy.tensor_mapping"));
    SHOAL_ASSIGN_OR_RETURN(const MlirAttribute* dims, Parameter(*array, "dim_mappings"));
    Groups& mapping = mappings.emplace_back();
    for (const MlirAttribute* dim : dims->elements) {
      SHOAL_RETURN_IF_ERROR(ExpectRecord(*dim, "sdy.dim_mapping"));
      SHOAL_ASSIGN_OR_RETURN(const MlirAttribute* factors, Parameter(*dim, "factor_indices"));
      mapping.push_back(factors->ints);
    }
  }
  return mappings;
}

}  // namespace

absl::StatusOr<UserShardingRule> UserRuleOf(const MlirAttribute& attribute) {
  SHOAL_RETURN_IF_ERROR(ExpectRecord(attribute, "sdy.op_sharding_rule"));
  UserShardingRule rule;
  SHOAL_ASSIGN_OR_RETURN(const MlirAttribute* sizes, Parameter(attribute, "factor_sizes"));
  rule.factor_sizes = sizes->ints;
  SHOAL_ASSIGN_OR_RETURN(rule.operands, MappingsOf(attribute, "operand_mappings"));
  SHOAL_ASSIGN_OR_RETURN(rule.results, MappingsOf(attribute, "result_mappings"));
  const std::pair<absl::string_view, IntVector*> kinds[] = {
      {"reduction_factors", &rule.reduction},
      {"need_replication_factors", &rule.need_replication},
      {"permutation_factors", &rule.permutation},
      {"blocked_propagation_factors", &rule.blocked}};
  for (const auto& [name, factors] : kinds) {
    if (const MlirAttribute* list = attribute.Find(name)) *factors = list->ints;
  }
  return rule;
}

absl::StatusOr<std::shared_ptr<const Mesh>> MeshOf(const MlirAttribute& attribute, absl::string_view name) {
  SHOAL_RETURN_IF_ERROR(ExpectRecord(attribute, "sdy.mesh"));
  auto mesh = std::make_shared<Mesh>();
  mesh->name = std::string(name);
  DimVector sizes;
  if (const MlirAttribute* axes = attribute.Find("axes")) {
    for (const MlirAttribute* axis : axes->elements) {
      SHOAL_RETURN_IF_ERROR(ExpectRecord(*axis, "sdy.mesh_axis"));
      SHOAL_ASSIGN_OR_RETURN(const MlirAttribute* axis_name, Parameter(*axis, "name"));
      SHOAL_ASSIGN_OR_RETURN(const MlirAttribute* size, Parameter(*axis, "size"));
      if (size->integer < 1) return Wrong(absl::StrCat("an axis of size ", size->integer));
      mesh->axes.push_back({std::string(axis_name->text), size->integer});
      sizes.push_back(size->integer);
    }
  }
  SHOAL_ASSIGN_OR_RETURN(int64_t devices, CheckedProduct(sizes));
  constexpr int64_t kMostDevices = 1 << 20;
  if (devices > kMostDevices) return Wrong(absl::StrCat("a mesh of ", devices, " devices"));
  if (const MlirAttribute* ids = attribute.Find("device_ids")) mesh->device_ids = ids->ints;
  if (!mesh->device_ids.empty() && static_cast<int64_t>(mesh->device_ids.size()) != devices) {
    return Wrong(absl::StrCat("a mesh of ", devices, " devices lists ", mesh->device_ids.size()));
  }
  for (int64_t id : mesh->device_ids) {
    if (id < 0) return Wrong(absl::StrCat("a device numbered ", id));
  }
  return mesh;
}

absl::StatusOr<Sharding> ShardingOf(const MlirAttribute& attribute, const Importer& importer) {
  SHOAL_RETURN_IF_ERROR(ExpectRecord(attribute, "sdy.sharding"));
  SHOAL_ASSIGN_OR_RETURN(const MlirAttribute* mesh, Parameter(attribute, "mesh"));
  Sharding sharding;
  if (mesh->kind == MlirAttributeKind::kSymbol) {
    SHOAL_ASSIGN_OR_RETURN(sharding.mesh, importer.MeshNamed(mesh->text));
  } else {
    SHOAL_ASSIGN_OR_RETURN(sharding.mesh, MeshOf(*mesh, "inlined"));
  }
  SHOAL_ASSIGN_OR_RETURN(const MlirAttribute* dims, Parameter(attribute, "dim_shardings"));
  for (const MlirAttribute* dim : dims->elements) {
    SHOAL_ASSIGN_OR_RETURN(sharding.dims.emplace_back(), DimensionOf(*dim, *sharding.mesh));
  }
  if (const MlirAttribute* axes = attribute.Find("replicated_axes")) {
    SHOAL_ASSIGN_OR_RETURN(sharding.replicated, AxesOf(*axes, *sharding.mesh));
  }
  if (const MlirAttribute* axes = attribute.Find("unreduced_axes")) {
    SHOAL_ASSIGN_OR_RETURN(sharding.unreduced, AxesOf(*axes, *sharding.mesh));
  }
  if (const MlirAttribute* op = attribute.Find("reduction_op"); op != nullptr && op->integer != 0) {
    return absl::UnimplementedError("a sharding that is unreduced by another operation than a sum");
  }
  return sharding;
}

absl::StatusOr<std::vector<Sharding>> ShardingsOf(const MlirAttribute& attribute, const Importer& importer) {
  std::vector<Sharding> shardings;
  if (attribute.kind == MlirAttributeKind::kRecord && attribute.text == "sdy.sharding") {
    SHOAL_ASSIGN_OR_RETURN(shardings.emplace_back(), ShardingOf(attribute, importer));
    return shardings;
  }
  SHOAL_RETURN_IF_ERROR(ExpectRecord(attribute, "sdy.sharding_per_value"));
  SHOAL_ASSIGN_OR_RETURN(const MlirAttribute* list, Parameter(attribute, "shardings"));
  for (const MlirAttribute* element : list->elements) {
    SHOAL_ASSIGN_OR_RETURN(shardings.emplace_back(), ShardingOf(*element, importer));
  }
  return shardings;
}

}  // namespace shoal

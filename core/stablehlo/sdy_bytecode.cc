// The sdy dialect (Shardy) in bytecode. The numbers are part of its format: new ones are appended, old ones
// stay.
//
// The records that come out have the names and parameters that the text reader gives them too:
//   sdy.mesh            axes (array of sdy.mesh_axis: name, size), device_ids
//   sdy.axis_ref        name, sub_axis_info (sdy.sub_axis_info: pre_size, size)
//   sdy.dimension_sharding  axes, is_closed, priority
//   sdy.sharding        mesh (symbol or sdy.mesh), dim_shardings, replicated_axes, unreduced_axes
//   sdy.sharding_per_value  shardings
//   sdy.manual_axes     value (array of strings)
#include "absl/strings/str_cat.h"
#include "core/stablehlo/dialect_bytecode.h"

namespace shoal {
namespace {

enum AttributeCode : uint64_t {
  kManualAxes = 0,
  kMeshAxis = 1,
  kMesh = 2,
  kSubAxisInfo = 3,
  kAxisRef = 4,
  kDimensionSharding = 5,
  kTensorShardingV1 = 6,
  kShardingPerValueV1 = 7,
  kDimMapping = 8,
  kTensorMapping = 9,
  kOpShardingRule = 10,
  kAxisRefList = 11,
  kListOfAxisRefLists = 12,
  kAllToAllParam = 13,
  kAllToAllParamList = 14,
  kTensorShardingV2 = 15,
  kShardingPerValueV2 = 16,
  kTensorShardingV3 = 17,
};

MlirAttribute* TensorSharding(EntryReader& reader, uint64_t code) {
  RecordReader record(&reader, "sdy.sharding");
  record.Attribute("mesh").Attributes("dim_shardings").Attributes("replicated_axes");
  if (code != kTensorShardingV1) record.Attributes("unreduced_axes");
  if (code == kTensorShardingV3) record.Integer("reduction_op");
  return record.record();
}

MlirAttribute* OpShardingRule(EntryReader& reader) {
  return RecordReader(&reader, "sdy.op_sharding_rule")
      .Integers("factor_sizes")
      .Attributes("operand_mappings")
      .Attributes("result_mappings")
      .Integers("reduction_factors")
      .Integers("need_replication_factors")
      .Integers("permutation_factors")
      .Integers("blocked_propagation_factors")
      .Bool("is_custom_rule")
      .record();
}

}  // namespace

MlirAttribute* ReadSdyAttribute(EntryReader& reader) {
  const uint64_t code = reader.VarInt();
  switch (code) {
    case kManualAxes:
      return RecordReader(&reader, "sdy.manual_axes").Attributes("value").record();
    case kMeshAxis:
      return RecordReader(&reader, "sdy.mesh_axis").Text("name").Integer("size").record();
    case kMesh:
      return RecordReader(&reader, "sdy.mesh").Attributes("axes").Integers("device_ids").record();
    case kSubAxisInfo:
      return RecordReader(&reader, "sdy.sub_axis_info").Integer("pre_size").Integer("size").record();
    case kAxisRef:
      return RecordReader(&reader, "sdy.axis_ref").Text("name").OptionalAttribute("sub_axis_info").record();
    case kDimensionSharding:
      return RecordReader(&reader, "sdy.dimension_sharding")
          .Attributes("axes")
          .Bool("is_closed")
          .OptionalCount("priority")
          .record();
    case kTensorShardingV1:
    case kTensorShardingV2:
    case kTensorShardingV3:
      return TensorSharding(reader, code);
    case kShardingPerValueV1:
    case kShardingPerValueV2:
      return RecordReader(&reader, "sdy.sharding_per_value").Attributes("shardings").record();
    case kDimMapping:
      return RecordReader(&reader, "sdy.dim_mapping").Integers("factor_indices").record();
    case kTensorMapping:
      return RecordReader(&reader, "sdy.tensor_mapping").Attributes("dim_mappings").record();
    case kOpShardingRule:
      return OpShardingRule(reader);
    case kAxisRefList:
      return RecordReader(&reader, "sdy.axis_ref_list").Attributes("value").record();
    case kListOfAxisRefLists:
      return RecordReader(&reader, "sdy.list_of_axis_ref_lists").Attributes("value").record();
    case kAllToAllParam:
      return RecordReader(&reader, "sdy.all_to_all_param")
          .Attributes("axes")
          .Integer("src_dim")
          .Integer("tgt_dim")
          .record();
    case kAllToAllParamList:
      return RecordReader(&reader, "sdy.all_to_all_param_list").Attributes("value").record();
    default:
      reader.Fail(absl::StrCat("sdy attribute code ", code));
      return nullptr;
  }
}

}  // namespace shoal

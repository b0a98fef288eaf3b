// Collectives. StableHLO numbers their members in four ways, by replica, by partition or by both; here they
// become device numbers (replica * partitions + partition), the same whatever the way was.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/hlo/participants.h"
#include "core/ops/builder.h"
#include "core/stablehlo/families.h"
#include "core/stablehlo/importer.h"
#include "core/stablehlo/promotion.h"
#include "core/stablehlo/ragged.h"

namespace shoal {
namespace {

// Labels of the constraints on an operation's groups in the specification.
struct GroupLabels {
  // complete: every member is in a group; none where that is not asked for
  absl::string_view unique, complete, range, global, matrix;
};

enum class Strategy { kCrossReplica, kCrossPartition, kCrossReplicaAndPartition, kFlattened };

constexpr int64_t kMostMembers = 1 << 22;

int64_t IntegerOf(const MlirAttribute* attribute, int64_t otherwise) {
  return attribute != nullptr && attribute->kind == MlirAttributeKind::kInteger ? attribute->integer
                                                                                : otherwise;
}

// The rows of the constant of rank two, without the -1 that fills up short ones.
absl::StatusOr<Groups> DenseGroups(const OpImporter& c, const MlirAttribute& attribute,
                                   absl::string_view label) {
  SHOAL_ASSIGN_OR_RETURN(IntVector flat, IntsOf(attribute));
  if (attribute.kind != MlirAttributeKind::kDenseElements || attribute.type->dims.size() != 2) {
    return c.Error(label, "the replica groups are not a matrix");
  }
  const int64_t width = attribute.type->dims[1];
  Groups groups;
  for (int64_t begin = 0; width > 0 && begin < static_cast<int64_t>(flat.size()); begin += width) {
    std::vector<int64_t>& group = groups.emplace_back();
    for (int64_t i = begin; i < begin + width; ++i) {
      if (flat[i] >= 0) group.push_back(flat[i]);
    }
    if (group.empty()) groups.pop_back();
  }
  return groups;
}

struct AxisPart {
  int64_t begin = 0;  // position among the parts of the whole mesh, major to minor
  int64_t stride = 1, size = 1;
};

// The groups of a mesh and some of its axes: devices that differ only in those.
absl::StatusOr<Groups> MeshAxesGroups(const OpImporter& c, const MlirAttribute& record,
                                      const Importer& importer) {
  const MlirAttribute* mesh_attribute = record.Find("mesh");
  const MlirAttribute* axes = record.Find("axes");
  if (mesh_attribute == nullptr || axes == nullptr) return c.Error("replica groups without mesh or axes");
  if (mesh_attribute->kind != MlirAttributeKind::kSymbol &&
      mesh_attribute->kind != MlirAttributeKind::kString) {
    return c.NotSupported("replica groups over a mesh without a name");
  }
  SHOAL_ASSIGN_OR_RETURN(std::shared_ptr<const Mesh> mesh, importer.MeshNamed(mesh_attribute->text));
  std::vector<AxisPart> grouped;
  for (const MlirAttribute* axis : axes->elements) {
    const MlirAttribute* name = axis->Find("name");
    const int index = name == nullptr ? -1 : mesh->AxisIndex(name->text);
    if (index < 0) return c.Error("replica groups over an axis that the mesh does not have");
    int64_t stride = 1;
    for (size_t i = static_cast<size_t>(index) + 1; i < mesh->axes.size(); ++i) stride *= mesh->axes[i].size;
    AxisPart part{index, stride, mesh->axes[index].size};
    if (const MlirAttribute* sub = axis->Find("sub_axis_info")) {
      const int64_t pre = IntegerOf(sub->Find("pre_size"), 0);
      const int64_t size = IntegerOf(sub->Find("size"), 0);
      if (pre < 1 || size < 1 || part.size % pre != 0 || part.size / pre % size != 0)
        return c.Error("a wrong sub-axis");
      part.stride *= part.size / (pre * size);
      part.size = size;
    }
    grouped.push_back(part);
  }
  const int64_t devices = mesh->device_count();
  if (devices > kMostMembers) return c.Error("too many devices");
  int64_t group_size = 1;
  for (const AxisPart& part : grouped) group_size *= part.size;
  Groups groups;
  for (int64_t first = 0; first < devices; ++first) {
    bool leads = true;
    for (const AxisPart& part : grouped) leads = leads && first / part.stride % part.size == 0;
    if (!leads) continue;
    std::vector<int64_t>& group = groups.emplace_back();
    for (int64_t member = 0; member < group_size; ++member) {
      int64_t position = first, rest = member;
      for (size_t i = grouped.size(); i-- > 0;) {
        position += rest % grouped[i].size * grouped[i].stride;
        rest /= grouped[i].size;
      }
      group.push_back(mesh->device_ids.empty() ? position : mesh->device_ids[position]);
    }
  }
  return groups;
}

// From the members' numbers in `strategy` to device numbers.
absl::StatusOr<Groups> Flatten(const OpImporter& c, Groups groups, Strategy strategy,
                               const GroupLabels& labels, const ModuleConfig& config) {
  const int64_t replicas = config.num_replicas;
  const int64_t partitions = config.num_partitions;
  if (replicas * partitions > kMostMembers) return c.Error("too many devices");
  const bool by_partition = strategy == Strategy::kCrossPartition;
  const int64_t range = strategy == Strategy::kFlattened ? replicas * partitions
                        : by_partition                   ? partitions
                                                         : replicas;
  std::vector<bool> seen(static_cast<size_t>(range));
  for (const std::vector<int64_t>& group : groups) {
    for (int64_t id : group) {
      if (id < 0 || id >= range)
        return c.Error(labels.range, absl::StrCat("member ", id, " where there are ", range));
      if (seen[id]) return c.Error(labels.unique, absl::StrCat("member ", id, " is in two places"));
      seen[id] = true;
    }
  }
  const auto missing = std::find(seen.begin(), seen.end(), false);
  if (!groups.empty() && !labels.complete.empty() && missing != seen.end())
    return c.Error(labels.complete, absl::StrCat("member ", missing - seen.begin(), " is in no group"));
  if (groups.empty()) {
    groups.emplace_back();
    for (int64_t id = 0; id < range; ++id) groups[0].push_back(id);
  }
  Groups flat;
  switch (strategy) {
    case Strategy::kFlattened:
      return groups;
    case Strategy::kCrossReplica:
    case Strategy::kCrossPartition: {
      const int64_t copies = by_partition ? replicas : partitions;
      for (int64_t copy = 0; copy < copies; ++copy) {
        for (const std::vector<int64_t>& group : groups) {
          std::vector<int64_t>& members = flat.emplace_back();
          for (int64_t id : group)
            members.push_back(by_partition ? copy * partitions + id : id * partitions + copy);
        }
      }
      return flat;
    }
    case Strategy::kCrossReplicaAndPartition:
      for (const std::vector<int64_t>& group : groups) {
        std::vector<int64_t>& members = flat.emplace_back();
        for (int64_t partition = 0; partition < partitions; ++partition) {
          for (int64_t id : group) members.push_back(id * partitions + partition);
        }
      }
      return flat;
  }
  return flat;
}

// Groups and numbering of a collective with these attributes. `with_channel` is what a channel means where
// device numbers are not asked for.
absl::StatusOr<CollectiveAttributes> CollectiveWith(OpImporter& c, int64_t channel, bool global,
                                                    const MlirAttribute* attribute, Strategy with_channel,
                                                    const GroupLabels& labels) {
  CollectiveAttributes attributes;
  attributes.channel_id = channel;
  if (global && channel <= 0) return c.Error(labels.global, "use_global_device_ids without a channel");
  Strategy strategy = channel <= 0 ? Strategy::kCrossReplica : global ? Strategy::kFlattened : with_channel;
  Groups groups;
  if (attribute != nullptr) {
    if (attribute->kind == MlirAttributeKind::kRecord) {
      SHOAL_ASSIGN_OR_RETURN(groups, MeshAxesGroups(c, *attribute, c.importer()));
      strategy = Strategy::kFlattened;
    } else {
      SHOAL_ASSIGN_OR_RETURN(groups, DenseGroups(c, *attribute, labels.matrix));
    }
  }
  SHOAL_ASSIGN_OR_RETURN(attributes.replica_groups,
                         Flatten(c, std::move(groups), strategy, labels, c.module().config()));
  attributes.use_global_device_ids = true;
  return attributes;
}

absl::StatusOr<CollectiveAttributes> CollectiveOf(OpImporter& c, Strategy with_channel,
                                                  const GroupLabels& labels) {
  SHOAL_ASSIGN_OR_RETURN(int64_t channel, c.IntOr("channel_id", 0));
  SHOAL_ASSIGN_OR_RETURN(bool global, c.BoolOr("use_global_device_ids", false));
  return CollectiveWith(c, channel, global, c.Find("replica_groups"), with_channel, labels);
}

}  // namespace

absl::Status ImportAllGather(OpImporter& c) {
  const size_t n = c.operands().size();
  SHOAL_RETURN_IF_ERROR(c.Expect(n, static_cast<int>(n)));
  SHOAL_ASSIGN_OR_RETURN(CollectiveAttributes attributes, CollectiveOf(c, Strategy::kCrossReplicaAndPartition,
                                                                       {"C2", "C3", "C4", "C5", "I3"}));
  SHOAL_ASSIGN_OR_RETURN(int64_t dimension, c.Int("all_gather_dim"));
  attributes.dimensions = {dimension};
  return c.Emit(Opcode::kAllGather, c.operands(), std::move(attributes));
}

absl::Status ImportAllReduce(OpImporter& c) {
  const size_t n = c.operands().size();
  SHOAL_RETURN_IF_ERROR(c.Expect(n, static_cast<int>(n), 1));
  SHOAL_ASSIGN_OR_RETURN(CollectiveAttributes attributes, CollectiveOf(c, Strategy::kCrossReplicaAndPartition,
                                                                       {"C1", "C2", "C3", "C4", "I2"}));
  SHOAL_ASSIGN_OR_RETURN(Computation * body, c.Body(0, "all_reduce"));
  std::vector<Instruction*> operands;
  for (size_t i = 0; i < n; ++i) {
    SHOAL_ASSIGN_OR_RETURN(operands.emplace_back(), PromotedOperand(c, i, body->root()->shape(), "C5"));
  }
  return c.Emit(Opcode::kAllReduce, operands, std::move(attributes), {body});
}

absl::Status ImportReduceScatter(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(1, 1, 1));
  SHOAL_ASSIGN_OR_RETURN(CollectiveAttributes attributes, CollectiveOf(c, Strategy::kCrossReplicaAndPartition,
                                                                       {"C3", "C4", "C5", "C6", "I3"}));
  SHOAL_ASSIGN_OR_RETURN(int64_t dimension, c.Int("scatter_dimension"));
  attributes.dimensions = {dimension};
  SHOAL_ASSIGN_OR_RETURN(Computation * body, c.Body(0, "reduce_scatter"));
  SHOAL_ASSIGN_OR_RETURN(Instruction * operand, PromotedOperand(c, 0, body->root()->shape(), "C7"));
  return c.Emit(Opcode::kReduceScatter, {operand}, std::move(attributes), {body});
}

absl::Status ImportAllToAll(OpImporter& c) {
  const size_t n = c.operands().size();
  SHOAL_RETURN_IF_ERROR(c.Expect(n, static_cast<int>(n)));
  SHOAL_ASSIGN_OR_RETURN(CollectiveAttributes attributes,
                         CollectiveOf(c, Strategy::kCrossPartition, {"C5", "C6", "C7", "H1", "I5"}));
  SHOAL_ASSIGN_OR_RETURN(int64_t split, c.Int("split_dimension"));
  SHOAL_ASSIGN_OR_RETURN(int64_t concat, c.Int("concat_dimension"));
  SHOAL_ASSIGN_OR_RETURN(int64_t count, c.Int("split_count"));
  if (count < 1) return c.Error("C4", absl::StrCat("split_count is ", count));
  const size_t group = attributes.replica_groups[0].size();
  if (static_cast<size_t>(count) != group)
    return c.Error("C8", absl::StrCat("split_count ", count, " for groups of ", group));
  attributes.dimensions = {split, concat};
  return c.Emit(Opcode::kAllToAll, c.operands(), std::move(attributes));
}

// A custom call: groups and channel stand in its configuration.
absl::Status ImportRaggedAllToAll(OpImporter& c) {
  const MlirAttribute* config = c.Find("mhlo.backend_config");
  if (config == nullptr) config = c.Find("backend_config");
  if (config == nullptr || config->kind != MlirAttributeKind::kDictionary) {
    return c.Error("the configuration with its groups is missing");
  }
  SHOAL_ASSIGN_OR_RETURN(CollectiveAttributes attributes,
                         CollectiveWith(c, IntegerOf(config->Find("channel_id"), 0), /*global=*/false,
                                        config->Find("replica_groups"), Strategy::kCrossPartition,
                                        {"H1", "", "H1", "H1", "H1"}));
  return EmitRaggedAllToAll(c, std::move(attributes));
}

namespace {

// This device's place in its group, as an s32; -1 in none.
Instruction* MemberNumber(HloBuilder& b, const Groups& groups, const ModuleConfig& config) {
  std::vector<int32_t> places(static_cast<size_t>(ParticipantCount(config)), -1);
  for (const std::vector<int64_t>& group : groups) {
    for (size_t i = 0; i < group.size(); ++i) places[group[i]] = static_cast<int32_t>(i);
  }
  const Shape shape = Shape::Array(ElementType::kS32, {static_cast<int64_t>(places.size())});
  std::string bytes(reinterpret_cast<const char*>(places.data()), places.size() * sizeof(int32_t));
  Instruction* table = b.Constant(*Literal::FromBytes(shape, std::move(bytes)));
  Instruction* partitions = b.Scalar(ElementType::kU32, static_cast<double>(config.num_partitions));
  Instruction* device = b.Add(b.Multiply(b.Op(Opcode::kReplicaId, {}), partitions), b.PartitionId());
  return b.Reshape(b.DynamicSlice(table, {device}, {1}), {});
}

// The operands without the last, and that one: the place of the root in each group, a number for each of
// them. Without a computed root, zeros: the first of each group.
absl::StatusOr<Instruction*> Roots(OpImporter& c, HloBuilder& b, absl::Span<Instruction* const>* data) {
  SHOAL_ASSIGN_OR_RETURN(bool computed, c.BoolOr("has_dynamic_root", false));
  *data = c.operands().first(c.operands().size() - (computed && !c.operands().empty() ? 1 : 0));
  if (data->empty()) return c.Error(computed ? "C4" : "C3", "there are no operands");
  const Shape shape = Shape::Array(ElementType::kS32, {static_cast<int64_t>(data->size())});
  if (!computed) return b.Splat(shape, 0);
  if (c.operands().back()->shape() != shape)
    return c.Error("C4", absl::StrCat("the roots are ", c.operands().back()->shape().ToString(), " for ",
                                      data->size(), " operands"));
  return c.operands().back();
}

Instruction* ElementOf(HloBuilder& b, Instruction* list, size_t i) {
  const auto at = static_cast<int64_t>(i);
  return b.Reshape(b.SliceInDim(list, 0, at, at + 1), {});
}

// Every member's value comes, and the root says which is taken.
absl::Status BroadcastFromComputed(OpImporter& c, const CollectiveAttributes& attributes) {
  HloBuilder b(&c.computation());
  absl::Span<Instruction* const> data;
  SHOAL_ASSIGN_OR_RETURN(Instruction * roots, Roots(c, b, &data));
  std::vector<Instruction*> results;
  for (size_t i = 0; i < data.size(); ++i) {
    Instruction* root = ElementOf(b, roots, i);
    Instruction* result = nullptr;
    for (size_t member = 0; member < attributes.replica_groups[0].size(); ++member) {
      CollectiveAttributes from = attributes;
      for (std::vector<int64_t>& group : from.replica_groups) {
        if (member < group.size()) std::swap(group[0], group[member]);
      }
      Instruction* sent = c.Add(Opcode::kCollectiveBroadcast, data[i]->shape(), {data[i]}, std::move(from));
      Instruction* number = b.Scalar(ElementType::kS32, static_cast<double>(member));
      Instruction* is_root = b.Compare(ComparisonDirection::kEq, root, number);
      result = result == nullptr ? sent : b.Select(is_root, sent, result);
    }
    results.push_back(result);
  }
  SHOAL_RETURN_IF_ERROR(b.status());
  return c.FinishEach(results);
}

}  // namespace

absl::Status ImportCollectiveBroadcast(OpImporter& c) {
  SHOAL_ASSIGN_OR_RETURN(bool computed, c.BoolOr("has_dynamic_root", false));
  const size_t n = c.operands().size();
  SHOAL_RETURN_IF_ERROR(c.Expect(n, static_cast<int>(n) - (computed ? 1 : 0)));
  SHOAL_ASSIGN_OR_RETURN(CollectiveAttributes attributes,
                         CollectiveOf(c, Strategy::kCrossPartition, {"C1", "", "C2", "H1", "I2"}));
  if (computed) return BroadcastFromComputed(c, attributes);
  return c.Emit(Opcode::kCollectiveBroadcast, c.operands(), std::move(attributes));
}

// An all-reduce, of which only the roots keep the result; the others have zeros.
absl::Status ImportCollectiveReduce(OpImporter& c) {
  HloBuilder b(&c.computation());
  absl::Span<Instruction* const> data;
  SHOAL_ASSIGN_OR_RETURN(Instruction * roots, Roots(c, b, &data));
  SHOAL_RETURN_IF_ERROR(c.Expect(c.operands().size(), static_cast<int>(data.size()), 1));
  SHOAL_ASSIGN_OR_RETURN(CollectiveAttributes attributes,
                         CollectiveOf(c, Strategy::kCrossPartition, {"C1", "", "C2", "H1", "I2"}));
  SHOAL_ASSIGN_OR_RETURN(Computation * body, c.Body(0, "collective_reduce"));
  const ModuleConfig& config = c.module().config();
  Instruction* member = MemberNumber(b, attributes.replica_groups, config);
  // Who is in no group takes part alone.
  std::vector<bool> listed(static_cast<size_t>(ParticipantCount(config)));
  for (const std::vector<int64_t>& group : attributes.replica_groups) {
    for (int64_t device : group) listed[device] = true;
  }
  for (size_t device = 0; device < listed.size(); ++device) {
    if (!listed[device]) attributes.replica_groups.push_back({static_cast<int64_t>(device)});
  }
  std::vector<Instruction*> results;
  for (size_t i = 0; i < data.size(); ++i) {
    SHOAL_ASSIGN_OR_RETURN(Instruction * operand, PromotedOperand(c, i, body->root()->shape(), "C4"));
    Instruction* sum = c.Add(Opcode::kAllReduce, operand->shape(), {operand}, attributes, {body});
    Instruction* is_root = b.Compare(ComparisonDirection::kEq, member, ElementOf(b, roots, i));
    results.push_back(b.Select(is_root, sum, b.Splat(sum->shape(), 0)));
  }
  SHOAL_RETURN_IF_ERROR(b.status());
  return c.FinishEach(results);
}

namespace {

// Pairs are of partitions within each replica if there is a channel, otherwise of replicas.
absl::StatusOr<CollectiveAttributes> PairsOf(const OpImporter& c, const ModuleConfig& config) {
  const MlirAttribute* pairs = c.Find("source_target_pairs");
  if (pairs != nullptr && pairs->kind == MlirAttributeKind::kDenseElements && pairs->type != nullptr) {
    const DimVector& dims = pairs->type->dims;
    if (dims.size() != 2) return c.Error("I2", "source_target_pairs is not a matrix");
    if (dims[1] != 2) return c.Error("C1", absl::StrCat("source_target_pairs are of ", dims[1]));
  }
  CollectiveAttributes attributes;
  SHOAL_ASSIGN_OR_RETURN(attributes.channel_id, c.IntOr("channel_id", 0));
  SHOAL_ASSIGN_OR_RETURN(IntVector flat, c.Ints("source_target_pairs"));
  const int64_t partitions = config.num_partitions, replicas = config.num_replicas;
  const bool by_partition = attributes.channel_id > 0;
  const int64_t copies = by_partition ? replicas : partitions;
  const int64_t range = by_partition ? partitions : replicas;
  if (static_cast<int64_t>(flat.size()) * copies > kMostMembers) return c.Error("too many pairs");
  for (int64_t copy = 0; copy < copies; ++copy) {
    for (size_t i = 0; i + 1 < flat.size(); i += 2) {
      int64_t pair[2];
      for (int j = 0; j < 2; ++j) {
        const int64_t id = flat[i + j];
        if (id < 0 || id >= range)
          return c.Error("C4", absl::StrCat("member ", id, " where there are ", range));
        pair[j] = by_partition ? copy * partitions + id : id * partitions + copy;
      }
      attributes.source_target_pairs.push_back({pair[0], pair[1]});
    }
  }
  attributes.use_global_device_ids = true;
  return attributes;
}

}  // namespace

absl::Status ImportCollectivePermute(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(1));
  SHOAL_ASSIGN_OR_RETURN(CollectiveAttributes attributes, PairsOf(c, c.module().config()));
  return c.Emit(Opcode::kCollectivePermute, c.operands(), std::move(attributes));
}

// Every device runs the program, so a send and the recv of its pairs are a collective-permute, where the send
// stands; its token says nothing, for who needs the result waits for it.
absl::Status ImportSendToDevice(OpImporter& c) {
  SHOAL_ASSIGN_OR_RETURN(const CollectiveAttributes attributes, PairsOf(c, c.module().config()));
  DeviceSend send{attributes.channel_id, attributes.source_target_pairs, {}};
  for (Instruction* array : c.operands().subspan(0, c.operands().size() - 1))
    send.arrays.push_back(c.Add(Opcode::kCollectivePermute, array->shape(), {array}, attributes));
  c.region().sends().push_back(std::move(send));
  return c.Alias(c.operands().back());
}

absl::Status ImportRecvFromDevice(OpImporter& c) {
  SHOAL_ASSIGN_OR_RETURN(const CollectiveAttributes attributes, PairsOf(c, c.module().config()));
  std::vector<DeviceSend>& sends = c.region().sends();
  const auto send = std::find_if(sends.begin(), sends.end(), [&](const DeviceSend& each) {
    return each.channel_id == attributes.channel_id && each.pairs == attributes.source_target_pairs &&
           each.arrays.size() + 1 == c.op().results.size();
  });
  if (send == sends.end()) {
    return c.NotSupported(
        "it receives from a device, and no send with its channel, pairs and number of arrays stands before "
        "it "
        "in the same block: use collective_permute");
  }
  std::vector<Instruction*> results = std::move(send->arrays);
  sends.erase(send);
  results.push_back(c.operand(0));
  return c.FinishEach(results);
}

namespace {

// What async_start may hold.
constexpr absl::string_view kAsynchronous[] = {
    "stablehlo.all_gather",         "stablehlo.all_reduce",
    "stablehlo.all_to_all",         "stablehlo.collective_broadcast",
    "stablehlo.collective_permute", "stablehlo.collective_reduce",
    "stablehlo.dynamic_slice",      "stablehlo.dynamic_update_slice",
    "stablehlo.reduce_scatter",     "stablehlo.slice"};

// A value stands for the future of it.
absl::Status AliasFuture(OpImporter& c, const MlirType& future, Instruction* value, absl::string_view label) {
  if (future.kind != MlirTypeKind::kFuture)
    return c.Error(label, absl::StrCat(ToString(future), " is not a future"));
  SHOAL_ASSIGN_OR_RETURN(Shape shape, c.ResultShape());
  if (shape != value->shape())
    return c.Error(label,
                   absl::StrCat("the result is ", shape.ToString(), ", not ", value->shape().ToString()));
  return c.Alias(value);
}

}  // namespace

// The operation in the region, as if it stood alone: every collective here runs beside what does not need its
// result, whether the program says so or not.
absl::Status ImportAsyncStart(OpImporter& c) {
  const size_t n = c.operands().size();
  SHOAL_RETURN_IF_ERROR(c.Expect(n, 1, 1));
  const std::vector<MlirBlock*>& blocks = c.op().regions[0]->blocks;
  if (blocks.size() != 1 || blocks[0]->operations.size() != 2)
    return c.Error("C1", "its region is not one operation and a return");
  const MlirBlock& block = *blocks[0];
  const absl::string_view name = block.operations[0]->name;
  if (std::find(std::begin(kAsynchronous), std::end(kAsynchronous), name) == std::end(kAsynchronous))
    return c.Error("C2", absl::StrCat(name, " is neither a collective nor a slice"));
  if (block.arguments.size() != n)
    return c.Error("C3", absl::StrCat("its region has ", block.arguments.size(), " arguments"));
  for (size_t i = 0; i < n; ++i) {
    SHOAL_ASSIGN_OR_RETURN(Shape shape, ShapeOf(*block.arguments[i]->type));
    if (shape != c.operand_shape(i))
      return c.Error("C3", absl::StrCat("argument ", i, " of its region is ", shape.ToString()));
    c.region().Bind(block.arguments[i], c.operand(i));
  }
  SHOAL_ASSIGN_OR_RETURN(std::vector<Instruction*> results, c.region().Import(block));
  if (results.size() != 1)
    return c.Error("C4", absl::StrCat("its region returns ", results.size(), " values"));
  return AliasFuture(c, *c.op().results[0]->type, results[0], "C4");
}

absl::Status ImportAsyncDone(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(1));
  return AliasFuture(c, *c.op().operands[0]->type, c.operand(0), "C1");
}

absl::Status ImportPartitionId(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(0));
  return c.Emit(Opcode::kPartitionId, {});
}

absl::Status ImportReplicaId(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(0));
  return c.Emit(Opcode::kReplicaId, {});
}

}  // namespace shoal

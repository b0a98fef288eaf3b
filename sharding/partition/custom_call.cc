// custom-call: on parts along dimensions that pass through (sharding/rules/custom_call.cc), else on whole
// arrays by every device; or by one device alone, if its sharding says so, as that of a host callback does;
// or as whoever has registered a partitioner for its target wants it.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "sharding/partition/region.h"
#include "sharding/partition/split_call.h"

namespace shoal {
namespace {

// The partition that runs `call` alone, or -1.
int64_t OnlyPartition(const Instruction& call) {
  for (const Sharding& sharding : call.shardings()) {
    if (sharding.mesh != nullptr && sharding.mesh->IsMaximal()) return sharding.mesh->device_ids[0];
  }
  return -1;
}

Computation* NewBranch(Region& region, absl::string_view name, Instruction* arguments) {
  Computation* branch = region.context().module().AddComputation(name);
  branch->AddParameter(0, arguments->shape(), "arguments");
  return branch;
}

// The call itself, on the elements of the parameter.
Computation* CallBranch(Region& region, const Instruction& old, Instruction* arguments) {
  Computation* branch = NewBranch(region, absl::StrCat(old.name(), ".here"), arguments);
  LocalBuilder builder(region.context(), branch);
  Region inside(region.context(), builder, region.manual());
  const std::vector<Instruction*> leaves = inside.Explode(branch->parameter(0));
  std::vector<Instruction*> operands;
  size_t next = 0;
  for (const Instruction* operand : old.operands()) {
    const size_t count = operand->shape().Leaves().size();
    operands.push_back(inside.Assemble(operand->shape(), absl::MakeSpan(leaves).subspan(next, count)));
    next += count;
  }
  builder.set_op_name(old.op_name());
  branch->set_root(builder.Add(Opcode::kCustomCall, old.shape(), operands, old.attributes(), old.called()));
  return branch;
}

// Zeros of the same shape.
Computation* ElseBranch(Region& region, const Instruction& old, Instruction* arguments) {
  Computation* branch = NewBranch(region, absl::StrCat(old.name(), ".elsewhere"), arguments);
  LocalBuilder builder(region.context(), branch);
  Region inside(region.context(), builder, region.manual());
  std::vector<Instruction*> results;
  for (const Shape& leaf : old.shape().Leaves()) {
    results.push_back(leaf.IsToken()
                          ? builder.Add(Opcode::kAfterAll, leaf, {})
                          : builder.BroadcastScalar(builder.Zero(leaf.element_type()), leaf.dims()));
  }
  branch->set_root(inside.Assemble(old.shape(), results));
  return branch;
}

// What partition `from` has, on all.
Instruction* Broadcast(Region& region, Instruction* value, int64_t from, int64_t partitions) {
  CollectiveAttributes collective;
  std::vector<int64_t> group = {from};
  for (int64_t p = 0; p < partitions; ++p) {
    if (p != from) group.push_back(p);
  }
  collective.replica_groups = {IntVector(group.begin(), group.end())};
  collective.channel_id = region.context().NextChannel();
  collective.use_global_device_ids = true;
  return region.builder().Add(Opcode::kCollectiveBroadcast, value->shape(), {value}, std::move(collective));
}

absl::Status PartitionOnOne(Region& region, const Instruction& old, int64_t partition) {
  const int64_t partitions = region.context().module().config().num_partitions;
  if (partition >= partitions) {
    return absl::InvalidArgumentError(
        absl::StrCat("custom call ", old.name(), " is to run on device ", partition, " of ", partitions));
  }
  LocalBuilder& builder = region.builder();
  std::vector<Instruction*> leaves;
  for (int64_t i = 0; i < old.operand_count(); ++i) {
    for (size_t leaf = 0; leaf < old.operand(i)->shape().Leaves().size(); ++leaf) {
      leaves.push_back(region.GetWholeFor(old, i, static_cast<int64_t>(leaf)));
    }
  }
  Instruction* arguments = builder.computation()->AddTuple(leaves);
  Instruction* id = builder.Convert(builder.Add(Opcode::kPartitionId, Shape::Scalar(ElementType::kU32), {}),
                                    builder.position_type());
  Instruction* here = builder.Compare(ComparisonDirection::kEq, id, builder.Position(partition));
  Instruction* call = builder.Add(Opcode::kConditional, old.shape(), {here, arguments, arguments}, {},
                                  {CallBranch(region, old, arguments), ElseBranch(region, old, arguments)});
  const std::vector<Instruction*> results = region.Explode(call);
  for (size_t leaf = 0; leaf < old.shape().Leaves().size(); ++leaf) {
    Instruction* result = results[leaf];
    if (result->shape().IsArray() && partitions > 1)
      result = Broadcast(region, result, partition, partitions);
    region.SetResult(&old, static_cast<int64_t>(leaf), result, Layout::Replicated(result->shape().rank()));
  }
  return absl::OkStatus();
}

// A callback that wants only to see the parts, wherever they are.
absl::Status PartitionOnParts(Region& region, const Instruction& old) {
  std::vector<Instruction*> operands;
  for (const Instruction* operand : old.operands()) {
    Layout layout = region.CurrentLayout(operand);
    layout.partial.clear();
    operands.push_back(region.Get(operand, layout));
  }
  Instruction* call = region.builder().Add(Opcode::kCustomCall, old.shape(), operands, old.attributes());
  const std::vector<Instruction*> results = region.Explode(call);
  for (size_t leaf = 0; leaf < results.size() && leaf < old.shape().Leaves().size(); ++leaf) {
    region.SetLeaf(&old, static_cast<int64_t>(leaf), results[leaf],
                   Layout::Replicated(results[leaf]->shape().rank()));
  }
  return absl::OkStatus();
}

// jaxlib's target of jax.debug.callback(partitioned=True), which has no results but a token.
bool WantsParts(const Instruction& old) {
  const auto leaves = old.shape().Leaves();
  return old.attributes<CustomCallAttributes>().target == "xla_ffi_partitioned_python_cpu_callback" &&
         std::all_of(leaves.begin(), leaves.end(), [](const Shape& leaf) { return leaf.IsToken(); });
}

}  // namespace

absl::Status PartitionCustomCall(Region& region, const Instruction& old) {
  // JAX gives it the sharding of a call on one device all the same.
  if (WantsParts(old)) return PartitionOnParts(region, old);
  const std::string& target = old.attributes<CustomCallAttributes>().target;
  if (const auto owner = FindCustomPartitioner(target)) return PartitionByItsOwner(region, old, *owner);
  const int64_t partition = OnlyPartition(old);
  return partition >= 0 ? PartitionOnOne(region, old, partition) : PartitionGeneric(region, old);
}

}  // namespace shoal

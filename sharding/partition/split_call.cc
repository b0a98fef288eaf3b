#include "sharding/partition/split_call.h"

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/passes/inline_calls.h"
#include "core/stablehlo/import.h"
#include "sharding/propagate/flatten.h"

namespace shoal {
namespace {

// One layout a leaf.
absl::StatusOr<std::vector<Layout>> LayoutsHere(Region& region, const OpSharding& answer,
                                                const Shape& shape) {
  SHOAL_ASSIGN_OR_RETURN(std::vector<Sharding> shardings,
                         ShardingsOver(region.context().mesh_ptr(), answer, shape));
  const std::vector<Shape> leaves = shape.Leaves();
  std::vector<Layout> layouts;
  for (size_t i = 0; i < leaves.size(); ++i) {
    layouts.push_back(WithoutAxes(LayoutOf(shardings[i], leaves[i].rank()), region.manual()));
  }
  return layouts;
}

// The program of one device, without calls and shardings, its channels numbered for this one.
absl::StatusOr<std::unique_ptr<Module>> Import(Region& region, absl::string_view program) {
  const int64_t partitions = region.context().module().config().num_partitions;
  SHOAL_ASSIGN_OR_RETURN(std::unique_ptr<Module> module, ImportStableHlo(program, partitions));
  SHOAL_RETURN_IF_ERROR(FlattenCalls(*module));
  for (Computation* computation : module->computations()) {
    for (Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() == Opcode::kManualComputation) {
        return absl::UnimplementedError("its partitioner's program has a manual region of its own");
      }
      if (FamilyOf(instruction->opcode()) == OpFamily::kShardingFamily) {
        instruction->ReplaceAllUsesWith(instruction->operand(0));
        computation->Remove(instruction);
        continue;
      }
      instruction->clear_sharding();
      if (!std::holds_alternative<CollectiveAttributes>(instruction->attributes())) continue;
      CollectiveAttributes collective = instruction->attributes<CollectiveAttributes>();
      if (collective.channel_id > 0) collective.channel_id = region.context().NextChannel();
      instruction->set_attributes(std::move(collective));
    }
  }
  return module;
}

absl::Status CheckShapes(const Computation& entry, absl::Span<Instruction* const> operands,
                         absl::Span<const Shape> results) {
  const auto wrong = [](absl::string_view what, const Shape& has, const Shape& wants) {
    return absl::InvalidArgumentError(absl::StrCat("its partitioner's program has a ", what, " ",
                                                   has.ToString(), " where its shardings give ",
                                                   wants.ToString()));
  };
  const std::vector<Shape> roots = entry.root()->shape().Leaves();
  if (entry.parameters().size() != operands.size() || roots.size() != results.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("its partitioner's program has ", entry.parameters().size(), " parameters and ",
                     roots.size(), " results instead of ", operands.size(), " and ", results.size()));
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    if (entry.parameters()[i]->shape() != operands[i]->shape()) {
      return wrong("parameter", entry.parameters()[i]->shape(), operands[i]->shape());
    }
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (roots[i] != results[i]) return wrong("result", roots[i], results[i]);
  }
  return absl::OkStatus();
}

absl::Status Split(Region& region, const Instruction& old, const CustomPartitioner& owner) {
  const auto sharding_of = [](const Instruction* instruction, int64_t leaf) {
    const std::vector<Sharding>& shardings = instruction->shardings();
    return leaf < static_cast<int64_t>(shardings.size()) ? shardings[leaf] : Sharding();
  };
  SHOAL_ASSIGN_OR_RETURN(SplitCall split, owner.Split(Place(old, sharding_of)));
  if (split.operands.size() != old.operands().size()) {
    return absl::InvalidArgumentError(absl::StrCat("its partitioner gives ", split.operands.size(),
                                                   " shardings for ", old.operands().size(), " operands"));
  }
  std::vector<Instruction*> operands;
  for (int64_t i = 0; i < old.operand_count(); ++i) {
    const Instruction* operand = old.operand(i);
    if (!operand->shape().IsArray()) {
      return absl::UnimplementedError(absl::StrCat("its operand ", i, " is ", operand->shape().ToString()));
    }
    SHOAL_ASSIGN_OR_RETURN(std::vector<Layout> layouts,
                           LayoutsHere(region, split.operands[i], operand->shape()));
    operands.push_back(region.Get(operand, layouts[0]));
  }
  SHOAL_ASSIGN_OR_RETURN(std::vector<Layout> layouts, LayoutsHere(region, split.result, old.shape()));
  const std::vector<Shape> global = old.shape().Leaves();
  std::vector<Shape> local;
  for (size_t i = 0; i < global.size(); ++i) local.push_back(LocalShape(global[i], layouts[i]));
  SHOAL_ASSIGN_OR_RETURN(std::unique_ptr<Module> program, Import(region, split.program));
  SHOAL_RETURN_IF_ERROR(CheckShapes(*program->entry(), operands, local));
  Instruction* root = InlineBody(*program->entry(), operands, *region.builder().computation());
  const std::vector<Instruction*> results = region.Explode(root);
  for (size_t i = 0; i < results.size(); ++i) {
    region.SetResult(&old, static_cast<int64_t>(i), results[i], layouts[i]);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status PartitionByItsOwner(Region& region, const Instruction& old, const CustomPartitioner& owner) {
  const absl::Status status = Split(region, old, owner);
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat("custom call ", old.name(), " (",
                                   old.attributes<CustomCallAttributes>().target, "): ", status.message()));
}

}  // namespace shoal

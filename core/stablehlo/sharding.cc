#include "absl/strings/str_cat.h"
#include "core/hlo/propagation_barrier.h"
#include "core/hlo/sharding_group.h"
#include "core/stablehlo/families.h"
#include "core/stablehlo/import_sharding.h"
#include "core/stablehlo/importer.h"

namespace shoal {
namespace {

absl::StatusOr<std::vector<Sharding>> ShardingsNamed(OpImporter& c, absl::string_view name, size_t count) {
  const MlirAttribute* attribute = c.Find(name);
  if (attribute == nullptr) return c.Error(absl::StrCat("the attribute ", name, " is missing"));
  SHOAL_ASSIGN_OR_RETURN(std::vector<Sharding> shardings, ShardingsOf(*attribute, c.importer()));
  if (shardings.size() != count)
    return c.Error(absl::StrCat(name, ": ", shardings.size(), " shardings for ", count, " values"));
  return shardings;
}

// An instruction that says `name`'s sharding of operand 0.
absl::Status ImportAnnotated(OpImporter& c, Opcode opcode, absl::string_view name) {
  SHOAL_RETURN_IF_ERROR(c.Expect(1));
  SHOAL_ASSIGN_OR_RETURN(std::vector<Sharding> shardings, ShardingsNamed(c, name, 1));
  SHOAL_ASSIGN_OR_RETURN(Shape shape, c.ResultShape());
  Instruction* annotated = c.Add(opcode, std::move(shape), c.operands());
  annotated->set_shardings(std::move(shardings));
  return c.Finish(annotated);
}

}  // namespace

absl::Status ImportShardingConstraint(OpImporter& c) {
  return ImportAnnotated(c, Opcode::kShardingConstraint, "sharding");
}

// sdy's own collectives, too, are a way of getting from the operand's sharding to the one that they name.
absl::Status ImportReshard(OpImporter& c) {
  return ImportAnnotated(c, Opcode::kReshard, c.Find("sharding") != nullptr ? "sharding" : "out_sharding");
}

// A wish that other values be sharded alike. It has no result: a call that stays for its effect.
absl::Status ImportShardingGroup(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(1, 0));
  if (c.module().config().num_partitions == 1) return absl::OkStatus();
  const MlirAttribute* group = c.Find("group_id");
  if (group == nullptr || group->kind != MlirAttributeKind::kInteger) {
    return c.Error("the attribute group_id is missing");
  }
  CustomCallAttributes attributes;
  attributes.target = kShardingGroupTarget;
  attributes.backend_config = absl::StrCat(group->integer);
  attributes.has_side_effect = true;
  c.Add(Opcode::kCustomCall, Shape::Tuple({}), c.operands(), std::move(attributes));
  return absl::OkStatus();
}

// The direction is a word, or in the form that all operations share its number.
absl::Status ImportPropagationBarrier(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(1));
  const MlirAttribute* direction = c.Find("allowed_direction");
  if (direction == nullptr) return c.Error("the attribute allowed_direction is missing");
  constexpr absl::string_view kWords[] = {"NONE", "FORWARD", "BACKWARD", "BOTH"};
  absl::string_view word = direction->text;
  if (direction->kind == MlirAttributeKind::kInteger) {
    if (direction->integer < 0 || direction->integer > 3) return c.Error("no such allowed_direction");
    word = kWords[direction->integer];
  }
  if (word == "BOTH" || c.module().config().num_partitions == 1) return c.Alias(c.operand(0));
  CustomCallAttributes attributes;
  attributes.target = kPropagationBarrierTarget;
  attributes.backend_config = std::string(word);
  return c.Emit(Opcode::kCustomCall, c.operands(), std::move(attributes));
}

absl::Status ImportManualComputation(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(c.operands().size(), -1, 1));
  ManualAttributes attributes;
  SHOAL_ASSIGN_OR_RETURN(attributes.in_shardings, ShardingsNamed(c, "in_shardings", c.operands().size()));
  SHOAL_ASSIGN_OR_RETURN(attributes.out_shardings, ShardingsNamed(c, "out_shardings", c.op().results.size()));
  const MlirAttribute* axes = c.Find("manual_axes");
  if (axes == nullptr) return c.Error("the attribute manual_axes is missing");
  const MlirAttribute* list = axes->kind == MlirAttributeKind::kRecord ? axes->Find("value") : axes;
  if (list == nullptr) return c.Error("the attribute manual_axes is empty");
  for (const MlirAttribute* axis : list->elements) attributes.manual_axes.emplace_back(axis->text);
  SHOAL_ASSIGN_OR_RETURN(Computation * body, c.Body(0, "manual_computation"));
  if (body->parameters().size() != c.operands().size())
    return c.Error("operands and region arguments differ in number");
  return c.Emit(Opcode::kManualComputation, c.operands(), std::move(attributes), {body});
}

// A call whose arguments and results may have shardings.
absl::Status ImportNamedComputation(OpImporter& c) {
  SHOAL_RETURN_IF_ERROR(c.Expect(c.operands().size(), -1, 1));
  SHOAL_ASSIGN_OR_RETURN(absl::string_view name, c.TextOr("name", "named_computation"));
  SHOAL_ASSIGN_OR_RETURN(Computation * body, c.Body(0, name));
  if (body->parameters().size() != c.operands().size())
    return c.Error("operands and region arguments differ in number");
  if (c.Find("in_shardings") != nullptr) {
    SHOAL_ASSIGN_OR_RETURN(std::vector<Sharding> in, ShardingsNamed(c, "in_shardings", c.operands().size()));
    for (size_t i = 0; i < in.size(); ++i) body->parameter(static_cast<int64_t>(i))->set_sharding(in[i]);
  }
  SHOAL_ASSIGN_OR_RETURN(Shape shape, c.ResultsShape());
  Instruction* call = c.Add(Opcode::kCall, std::move(shape), c.operands(), {}, {body});
  if (c.Find("out_shardings") != nullptr) {
    SHOAL_ASSIGN_OR_RETURN(std::vector<Sharding> out,
                           ShardingsNamed(c, "out_shardings", c.op().results.size()));
    call->set_shardings(std::move(out));
  }
  return c.Finish(call, c.op().results.size() != 1);
}

}  // namespace shoal

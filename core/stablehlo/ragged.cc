// ragged_all_to_all, which JAX writes as a custom call: each device sends `send_sizes[i]` rows from
// `input_offsets[i]` on, and they land at `output_offsets[i]` of the receiver; S numbers for G devices, S/G
// for each in turn.
//
// Here the sender cuts its numbers to what both arrays hold and tells them, so that whatever a program says,
// both sides agree (core/hlo/ragged_all_to_all.h).
#include "core/stablehlo/ragged.h"

#include "absl/strings/str_cat.h"
#include "core/hlo/ragged_all_to_all.h"
#include "core/ops/builder.h"
#include "core/stablehlo/importer.h"

namespace shoal {
namespace {

absl::Status EmitExchange(OpImporter& c, CollectiveAttributes groups) {
  HloBuilder b(&c.computation());
  const int64_t pieces = c.operand_shape(2).dim(0);
  const Shape numbers = Shape::Array(ElementType::kS64, {pieces});
  const auto limit = [&](size_t operand) {
    return b.Splat(numbers, static_cast<double>(c.operand_shape(operand).dim(0)));
  };
  const auto between = [&](Instruction* x, Instruction* high) {
    return b.Minimum(b.Maximum(x, b.Splat(numbers, 0)), high);
  };
  const auto number = [&](size_t operand) { return b.Convert(c.operand(operand), ElementType::kS64); };
  Instruction* first = between(number(2), limit(0));
  Instruction* target = between(number(4), limit(1));
  Instruction* room = b.Minimum(b.Subtract(limit(0), first), b.Subtract(limit(1), target));
  Instruction* sent = between(number(3), room);
  // What is sent here, and where it goes.
  CollectiveAttributes exchange = groups;
  exchange.dimensions = {1, 1};
  Instruction* both = b.Concatenate({b.Reshape(sent, {1, pieces}), b.Reshape(target, {1, pieces})}, 0);
  Instruction* told = c.Add(Opcode::kAllToAll, both->shape(), {both}, std::move(exchange));
  const auto row = [&](int64_t i) { return b.Reshape(b.SliceInDim(told, 0, i, i + 1), {pieces}); };
  Instruction* result =
      c.Add(Opcode::kAllToAll, c.operand_shape(1), {c.operand(0), c.operand(1), first, sent, row(1), row(0)},
            RaggedAllToAll(std::move(groups.replica_groups), groups.channel_id));
  SHOAL_RETURN_IF_ERROR(b.status());
  return c.Alias(result);
}

}  // namespace

absl::Status EmitRaggedAllToAll(OpImporter& c, CollectiveAttributes groups) {
  SHOAL_RETURN_IF_ERROR(c.Expect(6));
  for (size_t i = 0; i < 6; ++i) SHOAL_RETURN_IF_ERROR(c.ExpectArray(i));
  const Shape &operand = c.operand_shape(0), &output = c.operand_shape(1), &offsets = c.operand_shape(2);
  const bool fits = operand.rank() > 0 && operand.rank() == output.rank() &&
                    operand.dims().subspan(1) == output.dims().subspan(1) &&
                    operand.element_type() == output.element_type() && offsets.rank() == 1;
  const size_t senders = groups.replica_groups.empty() ? 0 : groups.replica_groups[0].size();
  for (const std::vector<int64_t>& group : groups.replica_groups) {
    if (group.size() != senders) return c.Error("its groups are of different sizes");
  }
  if (!fits || senders == 0 || offsets.dim(0) % static_cast<int64_t>(senders) != 0) {
    return c.Error(absl::StrCat("operand ", operand.ToString(), ", output ", output.ToString(),
                                " and offsets ", offsets.ToString(), " in groups of ", senders));
  }
  for (size_t i = 3; i < 6; ++i) {
    if (c.operand_shape(i).dims() != offsets.dims()) return c.Error("its offsets and sizes differ in number");
  }
  if (operand.ElementCount() == 0 || output.ElementCount() == 0) return c.Alias(c.operand(1));
  return EmitExchange(c, std::move(groups));
}

}  // namespace shoal

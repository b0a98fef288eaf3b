// ragged_all_to_all, which JAX writes as a custom call: each device sends `send_sizes[i]` rows from
// `input_offsets[i]` on, and they land at `output_offsets[i]` of the receiver; S numbers for G devices, S/G
// for each in turn.
//
// Here every device gets all operands and takes the rows that are for it: right for any sizes, with the
// traffic of an all-gather.
#include "core/stablehlo/ragged.h"

#include "absl/strings/str_cat.h"
#include "core/ops/builder.h"
#include "core/stablehlo/importer.h"

namespace shoal {
namespace {

class RaggedExchange {
 public:
  RaggedExchange(OpImporter& c, CollectiveAttributes groups) : c_(c), b_(&c.computation()), groups_(groups) {
    groups_.dimensions = {0};
    const auto senders = static_cast<int64_t>(groups_.replica_groups[0].size());
    rows_ = c.operand_shape(0).dim(0);
    results_ = c.operand_shape(1).dim(0);
    pieces_ = c.operand_shape(2).dim(0);
    per_sender_ = pieces_ / senders;
    const bool is_large = rows_ * senders > INT32_MAX || results_ > INT32_MAX;
    type_ = is_large ? ElementType::kS64 : ElementType::kS32;
  }

  absl::Status Emit() {
    Instruction* source = Sources();
    const Shape& output = c_.operand_shape(1);
    GatherAttributes gather;
    for (int64_t d = 1; d < output.rank(); ++d) gather.offset_dims.push_back(d);
    gather.collapsed_slice_dims = gather.start_index_map = {0};
    gather.index_vector_dim = 1;
    gather.slice_sizes.assign(output.dims().begin(), output.dims().end());
    gather.slice_sizes[0] = 1;
    Instruction* all = b_.Op(Opcode::kAllGather, {c_.operand(0)}, groups_);
    Instruction* zero = b_.Splat(Shape::Array(type_, {results_}), 0);
    Instruction* from = b_.Reshape(b_.Maximum(source, zero), {results_, 1});
    Instruction* come = b_.Op(Opcode::kGather, {all, from}, std::move(gather));
    Instruction* any = b_.Compare(ComparisonDirection::kGe, source, zero);
    Instruction* result = b_.Select(b_.Broadcast(any, output.dims(), {0}), come, c_.operand(1));
    SHOAL_RETURN_IF_ERROR(b_.status());
    return c_.Alias(result);
  }

 private:
  Shape Matrix() const { return Shape::Array(type_, {results_, pieces_}); }

  // What the senders say for this device, the same in every row.
  Instruction* OfSenders(size_t operand) {
    CollectiveAttributes exchange = groups_;
    exchange.dimensions = {0, 0};
    Instruction* numbers = b_.Op(Opcode::kAllToAll, {c_.operand(operand)}, std::move(exchange));
    return b_.Broadcast(b_.Convert(numbers, type_), {results_, pieces_}, {1});
  }

  // For each row of the result: which row of all operands it is, or -1.
  Instruction* Sources() {
    Instruction *first = OfSenders(2), *size = OfSenders(3), *target = OfSenders(4);
    Instruction *row = b_.Iota(Matrix(), 0), *piece = b_.Iota(Matrix(), 1);
    Instruction* sender = b_.Divide(piece, b_.Splat(Matrix(), static_cast<double>(per_sender_)));
    Instruction* source = b_.Add(b_.Multiply(sender, b_.Splat(Matrix(), static_cast<double>(rows_))),
                                 b_.Add(first, b_.Subtract(row, target)));
    Instruction* within = b_.And(b_.Compare(ComparisonDirection::kLe, target, row),
                                 b_.Compare(ComparisonDirection::kLt, row, b_.Add(target, size)));
    Computation* largest = AddScalarBody(c_.module(), Opcode::kMaximum, type_);
    return b_.Reduce(b_.Select(within, source, b_.Splat(Matrix(), -1)), b_.Scalar(type_, -1), {1}, largest);
  }

  OpImporter& c_;
  HloBuilder b_;
  CollectiveAttributes groups_;
  int64_t rows_ = 0, results_ = 0, pieces_ = 0, per_sender_ = 0;
  ElementType type_ = ElementType::kS32;
};

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
  return RaggedExchange(c, std::move(groups)).Emit();
}

}  // namespace shoal

#include "core/lower/collective.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/hlo/participants.h"
#include "core/hlo/ragged_all_to_all.h"
#include "core/ops/reduction.h"

namespace shoal {
namespace {

CollectiveKind KindOf(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAllGather:
      return CollectiveKind::kAllGather;
    case Opcode::kReduceScatter:
      return CollectiveKind::kReduceScatter;
    case Opcode::kAllToAll:
      return CollectiveKind::kAllToAll;
    case Opcode::kCollectivePermute:
      return CollectiveKind::kCollectivePermute;
    case Opcode::kCollectiveBroadcast:
      return CollectiveKind::kCollectiveBroadcast;
    default:
      return CollectiveKind::kAllReduce;
  }
}

// The blocks of an array that is cut along `dimension`, one of them `size` wide there: [outer, n, size *
// inner].
Blocks BlocksAlong(const Shape& whole, int64_t dimension, int64_t size) {
  return {Product(whole.dims().subspan(0, dimension)), size * Product(whole.dims().subspan(dimension + 1))};
}

CollectiveArray ArrayOf(const Instruction& instruction, const Shape& in, const Shape& out) {
  const auto& attributes = instruction.attributes<CollectiveAttributes>();
  CollectiveArray array{
      in.element_type(), in.ElementCount(), {1, in.ElementCount()}, {1, out.ElementCount()}};
  switch (instruction.opcode()) {
    case Opcode::kAllGather: {
      const int64_t d = attributes.dimensions[0];
      array.out = BlocksAlong(out, d, in.dim(d));
      break;
    }
    case Opcode::kReduceScatter: {
      const int64_t d = attributes.dimensions[0];
      array.elements = out.ElementCount();
      array.in = BlocksAlong(in, d, out.dim(d));
      break;
    }
    case Opcode::kAllToAll: {
      if (IsRaggedAllToAll(instruction.opcode(), attributes)) {
        array.in = {in.dim(0), Product(in.dims().subspan(1))};
        break;
      }
      const int64_t split = attributes.dimensions[0], concat = attributes.dimensions[1];
      // A part is as wide as the output along the split dimension, and as the input along the other one.
      // Where both are the same dimension that is one n-th.
      const int64_t parts = attributes.replica_groups.empty()
                                ? instruction.parent()->parent()->config().num_partitions
                                : static_cast<int64_t>(attributes.replica_groups[0].size());
      array.in = BlocksAlong(in, split, in.dim(split) / parts);
      array.out = BlocksAlong(out, concat, out.dim(concat) / parts);
      break;
    }
    default:
      break;
  }
  return array;
}

}  // namespace

absl::StatusOr<ReductionKind> ReductionKindOf(const Computation& reducer) {
  const Instruction& root = *reducer.root();
  if (const std::optional<Opcode> opcode = ReductionOpcode(reducer)) {
    switch (*opcode) {
      case Opcode::kAdd:
        // On pred, addition is or.
        return root.shape().element_type() == ElementType::kPred ? ReductionKind::kOr : ReductionKind::kSum;
      case Opcode::kMultiply:
        return root.shape().element_type() == ElementType::kPred ? ReductionKind::kAnd
                                                                 : ReductionKind::kProduct;
      case Opcode::kMinimum:
        return ReductionKind::kMin;
      case Opcode::kMaximum:
        return ReductionKind::kMax;
      case Opcode::kAnd:
        return ReductionKind::kAnd;
      case Opcode::kOr:
        return ReductionKind::kOr;
      case Opcode::kXor:
        return ReductionKind::kXor;
      default:
        break;
    }
  }
  return absl::UnimplementedError(absl::StrCat("a collective cannot reduce by '", reducer.name(), "' (",
                                               root.ToString(),
                                               "): only add, multiply, minimum, maximum, and, or, xor"));
}

absl::StatusOr<CollectiveOp> CollectiveOpOf(const Instruction& instruction) {
  const auto& attributes = instruction.attributes<CollectiveAttributes>();
  CollectiveOp op{KindOf(instruction.opcode())};
  if (IsRaggedAllToAll(instruction.opcode(), attributes)) op.kind = CollectiveKind::kRaggedAllToAll;
  op.name = absl::StrCat(instruction.name(), " ", instruction.shape().ToString());
  if (op.kind == CollectiveKind::kAllReduce || op.kind == CollectiveKind::kReduceScatter) {
    SHOAL_ASSIGN_OR_RETURN(op.reduction, ReductionKindOf(*instruction.called(0)));
  }
  if (op.kind == CollectiveKind::kAllToAll && attributes.dimensions.size() != 2) {
    return absl::UnimplementedError(
        absl::StrCat("all-to-all without split and concat dimension: ", instruction.ToString()));
  }
  const std::vector<Shape> outputs = instruction.shape().Leaves();
  size_t leaf = 0;
  for (const Instruction* operand : instruction.operands()) {
    for (const Shape& in : operand->shape().Leaves()) {
      if (in.IsToken()) continue;
      op.arrays.push_back(ArrayOf(instruction, in, outputs[std::min(leaf++, outputs.size() - 1)]));
    }
  }
  for (const auto& [source, target] : attributes.source_target_pairs) {
    op.pairs.emplace_back(PartitionId(static_cast<int32_t>(source)),
                          PartitionId(static_cast<int32_t>(target)));
  }
  for (const auto& group : attributes.replica_groups) {
    auto& ids = op.groups.emplace_back();
    for (int64_t id : group) ids.push_back(PartitionId(static_cast<int32_t>(id)));
  }
  if (op.groups.empty()) {
    const int64_t count = ParticipantCount(instruction);
    auto& all = op.groups.emplace_back();
    for (int64_t id = 0; id < count; ++id) {
      all.push_back(PartitionId(static_cast<int32_t>(id)));
    }
  }
  return op;
}

}  // namespace shoal

// Operations between devices. All take several arrays at once, treated alike.
#include <algorithm>

#include "core/hlo/participants.h"
#include "core/hlo/ragged_all_to_all.h"
#include "core/ops/op_check.h"

namespace shoal {
namespace {

// Of a group: the first one's size, or all participants if no groups are listed. 0: not known.
int64_t GroupSize(const OpView& op) {
  const Groups& groups = op.attributes_as<CollectiveAttributes>().replica_groups;
  if (!groups.empty()) return static_cast<int64_t>(groups[0].size());
  const Module* module = op.module;
  if (module == nullptr && op.operand_count() > 0) module = op.operands[0]->parent()->parent();
  return module == nullptr ? 0 : ParticipantCount(module->config());
}

absl::Status CheckGroups(const OpView& op, absl::string_view unique_label, absl::string_view range_label,
                         bool same_size) {
  const Groups& groups = op.attributes_as<CollectiveAttributes>().replica_groups;
  IntVector all;
  for (const IntVector& group : groups) {
    all.insert(all.end(), group.begin(), group.end());
    SHOAL_OP_CHECK(op, "H1", !group.empty(), "an empty group");
    SHOAL_OP_CHECK(op, "H1", !same_size || group.size() == groups[0].size(), "groups of different sizes");
  }
  SHOAL_OP_CHECK(op, unique_label, IsUnique(all), "a participant is in two groups");
  SHOAL_OP_CHECK(op, range_label, std::all_of(all.begin(), all.end(), [](int64_t id) { return id >= 0; }),
                 "a participant is negative");
  return absl::OkStatus();
}

absl::StatusOr<int64_t> OneDimension(const OpView& op, absl::string_view label) {
  const IntVector& dimensions = op.attributes_as<CollectiveAttributes>().dimensions;
  SHOAL_OP_CHECK(op, label, dimensions.size() == 1 && dimensions[0] >= 0, "dimensions ",
                 ListText(dimensions));
  for (int64_t i = 0; i < op.operand_count(); ++i)
    SHOAL_OP_CHECK(op, label, dimensions[0] < op.shape(i).rank(), "dimension ", dimensions[0], " of operand ",
                   i);
  return dimensions[0];
}

// Each operand's shape with dimension `d` of size `size(dim)`.
template <typename F>
Shape Resized(const OpView& op, int64_t d, F size) {
  std::vector<Shape> results;
  for (int64_t i = 0; i < op.operand_count(); ++i) {
    DimVector dims(op.shape(i).dims().begin(), op.shape(i).dims().end());
    dims[d] = size(dims[d]);
    results.push_back(op.shape(i).WithDims(dims));
  }
  return OneOrTuple(std::move(results));
}

Shape SameAsOperands(const OpView& op) {
  std::vector<Shape> results;
  for (int64_t i = 0; i < op.operand_count(); ++i) results.push_back(op.shape(i));
  return OneOrTuple(std::move(results));
}

// The body's one type is that of all operands (C5 of all-reduce allows to promote: the importer converts
// before).
absl::Status CheckBody(const OpView& op, absl::string_view label) {
  SHOAL_ASSIGN_OR_RETURN(std::vector<ElementType> types, ReductionTypes(op, label, 0, 1));
  for (int64_t i = 0; i < op.operand_count(); ++i)
    SHOAL_OP_CHECK(op, label, op.shape(i).element_type() == types[0], "%", op.called[0]->name(),
                   " is of type ", ElementTypeName(types[0]));
  return absl::OkStatus();
}

absl::StatusOr<Shape> AllGatherShape(const OpView& op) {
  SHOAL_ASSIGN_OR_RETURN(int64_t d, OneDimension(op, "C1"));
  SHOAL_RETURN_IF_ERROR(CheckGroups(op, "C2", "C4", true));
  const int64_t n = GroupSize(op);
  for (int64_t i = 0; i < op.operand_count(); ++i) {
    int64_t product;
    SHOAL_OP_CHECK(op, "C6", !__builtin_mul_overflow(op.shape(i).dim(d), n, &product),
                   "the result is too big");
  }
  return Resized(op, d, [n](int64_t size) { return size * n; });
}

absl::StatusOr<Shape> AllReduceShape(const OpView& op) {
  SHOAL_RETURN_IF_ERROR(CheckGroups(op, "C1", "C3", false));
  SHOAL_RETURN_IF_ERROR(CheckBody(op, "C5"));
  return SameAsOperands(op);
}

absl::StatusOr<Shape> ReduceScatterShape(const OpView& op) {
  SHOAL_ASSIGN_OR_RETURN(int64_t d, OneDimension(op, "C2"));
  SHOAL_RETURN_IF_ERROR(CheckGroups(op, "C3", "C5", true));
  SHOAL_RETURN_IF_ERROR(CheckBody(op, "C7"));
  const int64_t n = GroupSize(op);
  for (int64_t i = 0; i < op.operand_count(); ++i)
    SHOAL_OP_CHECK(op, "C1", n > 0 && op.shape(i).dim(d) % n == 0, "dimension ", d, " of operand ", i, " in ",
                   n, " parts");
  return Resized(op, d, [n](int64_t size) { return size / n; });
}

// dimensions: split, concat; one alone is both.
absl::StatusOr<Shape> AllToAllShape(const OpView& op) {
  const IntVector& dimensions = op.attributes_as<CollectiveAttributes>().dimensions;
  SHOAL_OP_CHECK(op, "C1", dimensions.size() == 1 || dimensions.size() == 2, "dimensions ",
                 ListText(dimensions));
  const int64_t split = dimensions[0], concat = dimensions.back();
  SHOAL_RETURN_IF_ERROR(CheckGroups(op, "C5", "C7", true));
  const int64_t n = GroupSize(op);
  SHOAL_OP_CHECK(op, "C4", n > 0, "a group of ", n);
  std::vector<Shape> results;
  for (int64_t i = 0; i < op.operand_count(); ++i) {
    DimVector dims(op.shape(i).dims().begin(), op.shape(i).dims().end());
    SHOAL_OP_CHECK(op, "C1", InRange({split}, op.shape(i).rank()), "split dimension ", split);
    SHOAL_OP_CHECK(op, "C3", InRange({concat}, op.shape(i).rank()), "concat dimension ", concat);
    SHOAL_OP_CHECK(op, "C2", dims[split] % n == 0, "dimension ", split, " of operand ", i, " in ", n,
                   " parts");
    dims[split] /= n;
    SHOAL_OP_CHECK(op, "C9", !__builtin_mul_overflow(dims[concat], n, &dims[concat]),
                   "the result is too big");
    results.push_back(op.shape(i).WithDims(dims));
  }
  return OneOrTuple(std::move(results));
}

// Rows, result, and four vectors of numbers for each member.
absl::StatusOr<Shape> RaggedAllToAllShape(const OpView& op) {
  SHOAL_RETURN_IF_ERROR(CheckGroups(op, "C5", "C7", true));
  const int64_t n = GroupSize(op);
  SHOAL_OP_CHECK(op, "H1", op.operand_count() == 6 && n > 0, op.operand_count(), " operands in a group of ",
                 n);
  const Shape &rows = op.shape(0), &result = op.shape(1), &numbers = op.shape(2);
  SHOAL_OP_CHECK(op, "H1",
                 rows.rank() > 0 && result.rank() == rows.rank() &&
                     rows.element_type() == result.element_type() &&
                     rows.dims().subspan(1) == result.dims().subspan(1),
                 "rows of ", rows.ToString(), " for ", result.ToString());
  for (int64_t i = 2; i < 6; ++i) {
    SHOAL_OP_CHECK(op, "H1",
                   op.shape(i).element_type() == ElementType::kS64 && op.shape(i).rank() == 1 &&
                       op.shape(i) == numbers && numbers.dim(0) % n == 0,
                   "operand ", i, " is ", op.shape(i).ToString());
  }
  return result;
}

absl::StatusOr<Shape> CollectivePermuteShape(const OpView& op) {
  IntVector sources, targets;
  for (const auto& [source, target] : op.attributes_as<CollectiveAttributes>().source_target_pairs) {
    sources.push_back(source);
    targets.push_back(target);
    SHOAL_OP_CHECK(op, "C4", source >= 0 && target >= 0, "a pair has a negative participant");
  }
  SHOAL_OP_CHECK(op, "C2", IsUnique(sources), "a source comes twice");
  SHOAL_OP_CHECK(op, "C3", IsUnique(targets), "a target comes twice");
  return SameAsOperands(op);
}

}  // namespace

template <>
absl::StatusOr<Shape> InferFamilyShape<OpFamily::kCollectiveFamily>(const OpView& op) {
  if (op.opcode == Opcode::kPartitionId || op.opcode == Opcode::kReplicaId)
    return Shape::Scalar(ElementType::kU32);
  SHOAL_RETURN_IF_ERROR(CheckArrays(op));
  SHOAL_OP_CHECK(op, "I1", op.operand_count() > 0, "no operands");
  switch (op.opcode) {
    case Opcode::kAllGather:
      return AllGatherShape(op);
    case Opcode::kAllReduce:
      return AllReduceShape(op);
    case Opcode::kAllToAll:
      if (IsRaggedAllToAll(op.opcode, op.attributes_as<CollectiveAttributes>()))
        return RaggedAllToAllShape(op);
      return AllToAllShape(op);
    case Opcode::kReduceScatter:
      return ReduceScatterShape(op);
    case Opcode::kCollectivePermute:
      return CollectivePermuteShape(op);
    default:
      SHOAL_RETURN_IF_ERROR(CheckGroups(op, "C1", "C2", false));
      return SameAsOperands(op);
  }
}

}  // namespace shoal

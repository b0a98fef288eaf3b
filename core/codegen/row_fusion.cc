#include "core/codegen/row_fusion.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"

namespace shoal {
namespace {

constexpr int64_t kMinLength = 4;      // of a row; shorter ones are better many to a vector
constexpr int64_t kMaxLength = 16384;  // it has to stay in the cache, and its sum's error small

class RowRules {
 public:
  // `rows`: the operand of a reduction.
  explicit RowRules(const Shape& rows) : rows_(rows.dims().begin(), rows.dims().end()), results_(rows_) {
    if (!results_.empty()) results_.pop_back();
  }

  bool AreRows(const Shape& shape) const {
    return shape.IsArray() && shape.dims() == absl::MakeConstSpan(rows_);
  }
  bool AreResults(const Shape& shape) const {
    return shape.IsArray() && shape.dims() == absl::MakeConstSpan(results_);
  }

  // Whether a result has been put back into its row.
  bool goes_back() const { return goes_back_; }

  // Instructions come in order.
  bool Allows(const Instruction& op) {
    if (op.opcode() == Opcode::kReduce) {
      bound_.insert(&op);
      return op.operand_count() == 2 && AreRows(op.operand(0)->shape()) && op.dimensions().size() == 1 &&
             op.dimensions()[0] == static_cast<int64_t>(rows_.size()) - 1 &&
             !IsComplex(op.shape().element_type());
    }
    if (FamilyOf(op.opcode()) == OpFamily::kElementwise && op.opcode() != Opcode::kBitcastConvert) {
      bool is_bound = false, alike = true;
      for (const Instruction* operand : op.operands()) {
        is_bound |= bound_.contains(operand);
        alike &= !bound_.contains(operand) || operand->shape().dims() == op.shape().dims();
      }
      if (is_bound) bound_.insert(&op);
      return !is_bound || (alike && (AreRows(op.shape()) || AreResults(op.shape())));
    }
    if (op.opcode() == Opcode::kBroadcast && bound_.contains(op.operand(0))) {
      bound_.insert(&op);
      goes_back_ = true;
      bool in_place = AreRows(op.shape()) && AreResults(op.operand(0)->shape());
      for (size_t d = 0; d < op.dimensions().size(); ++d)
        in_place &= op.dimensions()[d] == static_cast<int64_t>(d);
      return in_place;
    }
    for (const Instruction* operand : op.operands()) {
      if (bound_.contains(operand)) return false;
    }
    switch (op.opcode()) {
      case Opcode::kBroadcast:
      case Opcode::kReshape:
      case Opcode::kBitcast:
      case Opcode::kConstant:
      case Opcode::kIota:
        return true;
      default:
        return false;
    }
  }

 private:
  const std::vector<int64_t> rows_;
  std::vector<int64_t> results_;
  absl::flat_hash_set<const Instruction*> bound_;  // what depends on a reduction
  bool goes_back_ = false;
};

enum class RowUse : uint8_t { kNone, kReduces, kNeedsKernel };

RowUse Classify(absl::Span<Instruction* const> inside, absl::Span<Instruction* const> roots) {
  const auto reduce = std::find_if(inside.begin(), inside.end(),
                                   [](const Instruction* op) { return op->opcode() == Opcode::kReduce; });
  if (reduce == inside.end() || (*reduce)->operand(0)->shape().rank() == 0) return RowUse::kNone;
  const Shape& rows = (*reduce)->operand(0)->shape();
  const int64_t length = rows.dim(rows.rank() - 1);
  if (length < kMinLength || length > kMaxLength || rows.ElementCount() == 0) return RowUse::kNone;
  RowRules rules(rows);
  for (const Instruction* op : inside) {
    if (!rules.Allows(*op)) return RowUse::kNone;
  }
  bool writes_rows = false;
  for (const Instruction* root : roots) {
    if (!rules.AreRows(root->shape()) && !rules.AreResults(root->shape())) return RowUse::kNone;
    writes_rows |= rules.AreRows(root->shape());
  }
  return writes_rows || rules.goes_back() ? RowUse::kNeedsKernel : RowUse::kReduces;
}

}  // namespace

bool CanBeRowKernel(absl::Span<Instruction* const> inside, absl::Span<Instruction* const> roots) {
  return Classify(inside, roots) != RowUse::kNone;
}

bool NeedsRowKernel(const Instruction& fusion) {
  if (fusion.opcode() != Opcode::kFusion) return false;
  const Computation& body = *fusion.called(0);
  std::vector<Instruction*> inside, roots = {body.root()};
  for (Instruction* op : body.instructions()) {
    const bool wraps = op == body.root() && op->opcode() == Opcode::kTuple;
    if (op->opcode() != Opcode::kParameter && !wraps) inside.push_back(op);
    if (wraps) roots.assign(op->operands().begin(), op->operands().end());
  }
  return Classify(inside, roots) == RowUse::kNeedsKernel;
}

}  // namespace shoal

// Rules of matrix products.
#include <algorithm>

#include "core/passes/match.h"
#include "core/passes/simplify.h"

namespace shoal {
namespace {

// The free dimensions of one side, in order.
IntVector FreeDimensions(int64_t rank, const IntVector& batch, const IntVector& contracting) {
  IntVector free;
  for (int64_t d = 0; d < rank; ++d) {
    const auto among = [d](const IntVector& v) { return std::find(v.begin(), v.end(), d) != v.end(); };
    if (!among(batch) && !among(contracting)) free.push_back(d);
  }
  return free;
}

// dot(transpose(a), b) -> dot(a, b) with a's dimension numbers, if a's free dimensions keep their order: the
// kernels read any order of dimensions, a transposed copy costs a pass over memory.
Instruction* DotOfTranspose(Instruction& op, HloBuilder& b) {
  DotAttributes dot = op.attributes<DotAttributes>();
  Instruction* sides[] = {op.operand(0), op.operand(1)};
  bool changed = false;
  for (int side : {0, 1}) {
    Instruction* transpose = sides[side];
    if (transpose->opcode() != Opcode::kTranspose) continue;
    IntVector& batch = side == 0 ? dot.lhs_batch_dims : dot.rhs_batch_dims;
    IntVector& contracting = side == 0 ? dot.lhs_contracting_dims : dot.rhs_contracting_dims;
    const auto permutation = transpose->dimensions();
    const auto moved = [&](IntVector dims) {
      for (int64_t& d : dims) d = permutation[d];
      return dims;
    };
    const IntVector free = moved(FreeDimensions(transpose->shape().rank(), batch, contracting));
    if (!std::is_sorted(free.begin(), free.end())) continue;
    batch = moved(batch);
    contracting = moved(contracting);
    sides[side] = transpose->operand(0);
    changed = true;
  }
  return changed ? b.Dot(sides[0], sides[1], std::move(dot), op.shape().element_type()) : nullptr;
}

// transpose(dot(a, b)) -> dot(b, a), if that brings the result's innermost dimension into place; what is left
// of the transpose keeps runs of memory together.
Instruction* TransposeOfDot(Instruction& op, HloBuilder& b) {
  Instruction* inner = op.operand(0);
  if (inner->opcode() != Opcode::kDot || inner->users().size() != 1 || !inner->shardings().empty())
    return nullptr;
  const DotAttributes& dot = inner->attributes<DotAttributes>();
  const int64_t batch = static_cast<int64_t>(dot.lhs_batch_dims.size());
  const int64_t contracted = static_cast<int64_t>(dot.lhs_contracting_dims.size());
  const int64_t lhs_free = inner->operand(0)->shape().rank() - batch - contracted;
  const int64_t rhs_free = inner->operand(1)->shape().rank() - batch - contracted;
  const int64_t last = op.dimensions().empty() ? 0 : op.dimensions().back();
  if (last < batch || last >= batch + lhs_free || rhs_free == 0) return nullptr;
  IntVector permutation;
  for (int64_t d : op.dimensions())
    permutation.push_back(d < batch ? d : d < batch + lhs_free ? d + rhs_free : d - lhs_free);
  DotAttributes swapped{dot.rhs_batch_dims, dot.lhs_batch_dims, dot.rhs_contracting_dims,
                        dot.lhs_contracting_dims, dot.precision};
  return b.Transpose(
      b.Dot(inner->operand(1), inner->operand(0), std::move(swapped), op.shape().element_type()),
      std::move(permutation));
}

// Nothing to add up: zeros.
Instruction* DotOfNothing(Instruction& op, HloBuilder& b) {
  for (int64_t d : op.attributes<DotAttributes>().lhs_contracting_dims) {
    if (op.operand(0)->shape().dim(d) == 0) return b.Splat(op.shape(), 0);
  }
  return nullptr;
}

// One product an element of the result: an elementwise multiplication, which fuses.
Instruction* DotAsMultiply(Instruction& op, HloBuilder& b) {
  const DotAttributes& dot = op.attributes<DotAttributes>();
  Instruction *lhs = op.operand(0), *rhs = op.operand(1);
  const ElementType type = op.shape().element_type();
  if (lhs->shape().element_type() != type || rhs->shape().element_type() != type) return nullptr;
  int64_t contracted = 1;
  for (int64_t d : dot.lhs_contracting_dims) contracted *= lhs->shape().dim(d);
  if (contracted != 1) return nullptr;
  // Result dimensions: batch, free of lhs, free of rhs. The contracted ones, of size 1, are dropped by a
  // reshape after a transpose that brings batch dimensions to the front.
  const int64_t batch_count = static_cast<int64_t>(dot.lhs_batch_dims.size());
  const auto spread = [&](Instruction* x, const IntVector& batch, const IntVector& contracting,
                          int64_t first_free) {
    const IntVector free = FreeDimensions(x->shape().rank(), batch, contracting);
    IntVector permutation = batch, dimensions;
    permutation.insert(permutation.end(), free.begin(), free.end());
    DimVector kept;
    for (int64_t d : permutation) kept.push_back(x->shape().dim(d));
    permutation.insert(permutation.end(), contracting.begin(), contracting.end());
    for (int64_t i = 0; i < batch_count; ++i) dimensions.push_back(i);
    for (size_t i = 0; i < free.size(); ++i) dimensions.push_back(first_free + static_cast<int64_t>(i));
    return b.Broadcast(b.Reshape(b.Transpose(x, permutation), kept), op.shape().dims(),
                       std::move(dimensions));
  };
  const int64_t lhs_free =
      lhs->shape().rank() - batch_count - static_cast<int64_t>(dot.lhs_contracting_dims.size());
  return b.Multiply(spread(lhs, dot.lhs_batch_dims, dot.lhs_contracting_dims, batch_count),
                    spread(rhs, dot.rhs_batch_dims, dot.rhs_contracting_dims, batch_count + lhs_free));
}

constexpr SimplifyRow kRows[] = {
    {Opcode::kDot, "dot of nothing", DotOfNothing},
    {Opcode::kDot, "dot of transpose", DotOfTranspose},
    {Opcode::kDot, "dot as multiply", DotAsMultiply},
    {Opcode::kTranspose, "transpose of dot", TransposeOfDot},
};

}  // namespace

absl::Span<const SimplifyRow> DotRules() { return kRows; }

}  // namespace shoal

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

// Products that one part of a long contraction adds up.
constexpr int64_t kPartProducts = int64_t{1} << 16;

// The longest part of `extent` positions, each of `products` products, that stays within kPartProducts; one
// that leaves no rest, if there is one at least half as long.
int64_t PartLength(int64_t extent, int64_t products) {
  const int64_t longest = std::max<int64_t>(1, kPartProducts / products);
  for (int64_t length = longest; length > longest / 2; --length) {
    if (extent % length == 0) return length;
  }
  return longest;
}

// dot(a, b) whose contraction is long -> the sum of the products of its parts. The sum of many products of
// f32 loses as much as it is long, and a product of few rows and columns has no other work to share among
// cores: x.T @ x of f32[20000000,5] is right to 5e-8 instead of 9e-6.
Instruction* DotInParts(Instruction& op, HloBuilder& b) {
  DotAttributes dot = op.attributes<DotAttributes>();
  Instruction *lhs = op.operand(0), *rhs = op.operand(1);
  const ElementType type = op.shape().element_type();
  if (type != ElementType::kF32 && type != ElementType::kF64) return nullptr;
  if (lhs->shape().element_type() != type || rhs->shape().element_type() != type) return nullptr;
  size_t widest = 0;
  int64_t contracted = 1;
  for (size_t i = 0; i < dot.lhs_contracting_dims.size(); ++i) {
    const int64_t extent = lhs->shape().dim(dot.lhs_contracting_dims[i]);
    if (extent > lhs->shape().dim(dot.lhs_contracting_dims[widest])) widest = i;
    contracted *= extent;
  }
  if (contracted < 2 * kPartProducts) return nullptr;
  const int64_t extent = lhs->shape().dim(dot.lhs_contracting_dims[widest]);
  const int64_t length = PartLength(extent, contracted / extent), parts = extent / length;
  if (parts < 2) return nullptr;

  // Dimension `dim` of `x` becomes a batch dimension of parts, and what is contracted in one.
  const auto in_parts = [&](Instruction* x, IntVector& batch, IntVector& contracting) {
    const int64_t dim = contracting[widest];
    x = b.SliceInDim(x, dim, 0, parts * length);
    DimVector dims(x->shape().dims().begin(), x->shape().dims().end());
    dims[static_cast<size_t>(dim)] = length;
    dims.insert(dims.begin() + dim, parts);
    for (IntVector* moved : {&batch, &contracting}) {
      for (int64_t& d : *moved) d += d >= dim ? 1 : 0;
    }
    batch.insert(batch.begin(), dim);
    return b.Reshape(x, dims);
  };
  const DotAttributes whole = dot;
  Instruction* lhs_parts = in_parts(lhs, dot.lhs_batch_dims, dot.lhs_contracting_dims);
  Instruction* rhs_parts = in_parts(rhs, dot.rhs_batch_dims, dot.rhs_contracting_dims);
  Instruction* sum = b.Reduce(b.Dot(lhs_parts, rhs_parts, std::move(dot), type), b.Scalar(type, 0), {0},
                              AddScalarBody(*op.parent()->parent(), Opcode::kAdd, type));
  if (parts * length == extent) return sum;
  const auto rest = [&](Instruction* x, int64_t dim) { return b.SliceInDim(x, dim, parts * length, extent); };
  return b.Add(sum, b.Dot(rest(lhs, whole.lhs_contracting_dims[widest]),
                          rest(rhs, whole.rhs_contracting_dims[widest]), whole, type));
}

constexpr SimplifyRow kRows[] = {
    {Opcode::kDot, "dot of nothing", DotOfNothing},
    {Opcode::kDot, "dot in parts", DotInParts},
    {Opcode::kDot, "dot of transpose", DotOfTranspose},
    {Opcode::kDot, "dot as multiply", DotAsMultiply},
    {Opcode::kTranspose, "transpose of dot", TransposeOfDot},
};

}  // namespace

absl::Span<const SimplifyRow> DotRules() { return kRows; }

}  // namespace shoal

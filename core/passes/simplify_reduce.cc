// Rules of reductions, sorts, scatters.
#include <algorithm>
#include <cstring>

#include "core/ops/reduction.h"
#include "core/passes/match.h"
#include "core/passes/simplify.h"

namespace shoal {
namespace {

// Whether the init value of a reduction of one array does nothing.
bool InitIsIdentity(const Instruction& op) {
  if (op.operand_count() != 2) return false;
  const auto opcode = ReductionOpcode(*op.called(0));
  if (!opcode) return false;
  const ElementType type = op.operand(1)->shape().element_type();
  if (*opcode == Opcode::kAdd) return IsSplatOf(op.operand(1), 0);
  const auto identity = ReductionIdentity(*opcode, type);
  const Literal* init = SplatOf(op.operand(1));
  return identity && init != nullptr && std::memcmp(init->data(), identity->data(), ByteWidth(type)) == 0;
}

// Nothing or only single elements are reduced: no arithmetic is left, if the types agree.
Instruction* ReduceOfNothing(Instruction& op, HloBuilder& b) {
  if (op.operand_count() != 2 || !InitIsIdentity(op)) return nullptr;
  Instruction* x = op.operand(0);
  if (x->shape().element_type() != op.shape().element_type() || x->shape().ElementCount() == 0)
    return nullptr;
  for (int64_t d : op.dimensions()) {
    if (x->shape().dim(d) != 1) return nullptr;
  }
  return b.Reshape(x, op.shape().dims());
}

// No elements: the initial value.
Instruction* ReduceOfEmpty(Instruction& op, HloBuilder& b) {
  if (op.operand_count() != 2 || op.operand(0)->shape().ElementCount() != 0) return nullptr;
  if (op.operand(1)->shape().element_type() != op.shape().element_type()) return nullptr;
  return b.Broadcast(op.operand(1), op.shape().dims(), {});
}

// reduce(transpose(x)) -> reduce(x), if what is left keeps its order.
Instruction* ReduceOfTranspose(Instruction& op, HloBuilder& b) {
  Instruction* inner = op.operand(0);
  if (op.operand_count() != 2 || inner->opcode() != Opcode::kTranspose) return nullptr;
  const auto permutation = inner->dimensions(), reduced = op.dimensions();
  IntVector dimensions, kept;
  for (int64_t d = 0; d < inner->shape().rank(); ++d) {
    const bool is_reduced = std::find(reduced.begin(), reduced.end(), d) != reduced.end();
    (is_reduced ? dimensions : kept).push_back(permutation[d]);
  }
  if (!std::is_sorted(kept.begin(), kept.end())) return nullptr;
  // Floats are added in an order that the dimensions imply; so XLA's CPU compiler does the same.
  std::sort(dimensions.begin(), dimensions.end());
  return b.Reduce(inner->operand(0), op.operand(1), std::move(dimensions), op.called(0));
}

// reduce(reshape(x)) where the reshape only adds dimensions of size 1 -> reduce(x), reshaped.
Instruction* ReduceOfUnitReshape(Instruction& op, HloBuilder& b) {
  Instruction* inner = op.operand(0);
  if (op.operand_count() != 2 || inner->opcode() != Opcode::kReshape) return nullptr;
  Instruction* x = inner->operand(0);
  const auto reduced = op.dimensions();
  IntVector dimensions;
  int64_t next = 0;
  for (int64_t d = 0; d < inner->shape().rank(); ++d) {
    const bool is_reduced = std::find(reduced.begin(), reduced.end(), d) != reduced.end();
    const int64_t size = inner->shape().dim(d);
    if (next < x->shape().rank() && x->shape().dim(next) == size) {
      if (is_reduced) dimensions.push_back(next);
      ++next;
    } else if (size != 1) {
      return nullptr;
    }
  }
  // If only added dimensions were reduced, ReduceOfNothing has it.
  if (next != x->shape().rank() || dimensions.empty()) return nullptr;
  return b.Reshape(b.Reduce(x, op.operand(1), std::move(dimensions), op.called(0)), op.shape().dims());
}

// Long windows that lie side by side -> a reduction of reshaped dimensions, which sums in parts: one window
// of 10^7 floats that were added one after the other lost 2e-4. Short windows are better off where they are.
Instruction* ReduceOfWindows(Instruction& op, HloBuilder& b) {
  constexpr int64_t kLong = 1024;
  const auto& window = op.attributes<WindowAttributes>().window;
  if (op.operand_count() != 2 || op.operand(0)->shape().element_type() != op.shape().element_type())
    return nullptr;
  DimVector split;
  IntVector reduced;
  int64_t length = 1;
  for (size_t d = 0; d < window.size(); ++d) {
    const WindowDimension& w = window[d];
    const bool side_by_side = w.stride == w.size || op.shape().dim(d) == 1;
    if (!side_by_side || w.padding_low != 0 || w.padding_high != 0 || w.base_dilation != 1 ||
        w.window_dilation != 1 || w.size * op.shape().dim(d) != op.operand(0)->shape().dim(d))
      return nullptr;
    split.push_back(op.shape().dim(d));
    if (w.size == 1) continue;
    reduced.push_back(static_cast<int64_t>(split.size()));
    split.push_back(w.size);
    length *= w.size;
  }
  if (length < kLong) return nullptr;
  return b.Reduce(b.Reshape(op.operand(0), split), op.operand(1), std::move(reduced), op.called(0));
}

// A dimension of one element at most is sorted.
Instruction* SortOfOne(Instruction& op, HloBuilder& b) {
  if (op.operand(0)->shape().dim(op.attributes<SortAttributes>().dimension) > 1) return nullptr;
  return op.operand_count() == 1 ? op.operand(0) : b.Tuple(op.operands());
}

// No updates.
Instruction* ScatterOfNothing(Instruction& op, HloBuilder&) {
  if (op.operand_count() != 3 || op.operand(2)->shape().ElementCount() != 0) return nullptr;
  return op.operand(0)->shape() == op.shape() ? op.operand(0) : nullptr;
}

constexpr SimplifyRow kRows[] = {
    {Opcode::kReduce, "reduce of nothing", ReduceOfNothing},
    {Opcode::kReduce, "reduce of no elements", ReduceOfEmpty},
    {Opcode::kReduce, "reduce of transpose", ReduceOfTranspose},
    {Opcode::kReduce, "reduce of added dimensions", ReduceOfUnitReshape},
    {Opcode::kReduceWindow, "reduce-window side by side", ReduceOfWindows},
    {Opcode::kScatter, "scatter of nothing", ScatterOfNothing},
    {Opcode::kSort, "sort of one", SortOfOne},
};

}  // namespace

absl::Span<const SimplifyRow> ReduceRules() { return kRows; }

}  // namespace shoal

// EmitLoopKernel: every output element from its own position. The innermost loop is vectorised; the outer
// ones, or blocks of the innermost, are the units.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/codegen/loop_nest.h"

namespace shoal {
namespace {

constexpr int64_t kTransposeTile = 16;  // floats of a cache line

// The stride, in the result of a transpose, of the dimension along which its operand is contiguous; 1 if that
// is the innermost one of the result too.
int64_t ContiguousStride(const Instruction& transpose) {
  const Shape& shape = transpose.shape();
  DimVector strides = RowMajorStrides(shape.dims());
  for (int64_t wanted = shape.rank() - 1; wanted >= 0; --wanted) {
    for (int64_t d = 0; d < shape.rank(); ++d) {
      if (transpose.dimensions()[d] == wanted && shape.dim(d) > 1) return strides[d];
    }
  }
  return 1;
}

// Splits the innermost loop, and the one along which a transposed operand is contiguous, so that a tile of
// both is done before the next: every cache line that is touched is used up while it is there.
LoopSpace TileForTransposes(const KernelView& view, LoopSpace space) {
  if (space.extents.size() < 2 || space.extents.back() % kTransposeTile != 0) return space;
  int64_t other = 1;
  view.ForEach([&](const Instruction& op) {
    if (op.opcode() == Opcode::kTranspose && !view.IsLeaf(&op)) other = std::max(other, ContiguousStride(op));
  });
  for (size_t k = 0; k + 1 < space.extents.size(); ++k) {
    if (space.strides[k] != other || space.extents[k] % kTransposeTile != 0) continue;
    if (space.extents[k] == kTransposeTile && space.extents.back() == kTransposeTile) continue;
    int64_t inner = space.extents.back() / kTransposeTile;
    space.extents[k] /= kTransposeTile;
    space.strides[k] *= kTransposeTile;
    space.extents.back() = inner;
    space.strides.back() = kTransposeTile;
    space.extents.insert(space.extents.end(), {kTransposeTile, kTransposeTile});
    space.strides.insert(space.strides.end(), {other, 1});
    break;
  }
  return space;
}

}  // namespace

absl::StatusOr<Kernel> EmitLoopKernel(const KernelView& view, const std::string& name, IrModule& ir) {
  const Shape& shape = view.roots[0].shape;
  for (const KernelRoot& root : view.roots) {
    if (root.shape.ElementCount() != shape.ElementCount()) return NoEmitter(*view.op);
  }
  LoopNest nest(TileForTransposes(view, ChooseLoops(view, shape)), view, KernelCostPerElement(view));
  Kernel kernel;
  KernelPhase phase = nest.Phase(name, shape.ElementCount(), KernelCostPerElement(view));
  if (phase.units == 0) return kernel;

  KernelFunctionEmitter function(ir, name, nest.width());
  function.BindLeaves(view);
  std::vector<llvm::Value*> outputs;
  for (size_t k = 0; k < view.roots.size(); ++k) {
    outputs.push_back(function.Buffer(view.OutputBuffer(static_cast<int64_t>(k))));
  }
  LaneBuilder& lanes = function.lanes();
  ElementEmitter& e = function.elements();
  auto body = [&](const Digits& at, llvm::Value* mask) -> absl::Status {
    ElementEmitter::Scope scope(e);
    e.set_mask(mask);
    // All values before the first store: an output may lie where an operand does.
    std::vector<Element> values;
    for (const KernelRoot& root : view.roots) {
      SHOAL_ASSIGN_OR_RETURN(std::vector<Element> results, e.EmitTuple(*root.op, at));
      values.push_back(results[root.result]);
    }
    e.set_mask(nullptr);
    for (size_t k = 0; k < view.roots.size(); ++k) {
      StoreAt(lanes, e.index(), view.roots[k].shape.element_type(), values[k], outputs[k], at, mask);
    }
    return absl::OkStatus();
  };
  SHOAL_RETURN_IF_ERROR(nest.Emit(function, body));
  function.Finish();
  kernel.phases.push_back(std::move(phase));
  return kernel;
}

}  // namespace shoal

// EmitLoopKernel: every output element from its own position. The innermost loop is vectorised; the outer
// ones, or blocks of the innermost, are the units.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/codegen/loop_nest.h"

namespace shoal {

absl::StatusOr<Kernel> EmitLoopKernel(const KernelView& view, const std::string& name, IrModule& ir) {
  const Shape& shape = view.roots[0].shape;
  for (const KernelRoot& root : view.roots) {
    if (root.shape.ElementCount() != shape.ElementCount()) return NoEmitter(*view.op);
  }
  LoopNest nest(ChooseLoops(view, shape), view, KernelCostPerElement(view));
  Kernel kernel;
  KernelPhase phase;
  phase.function = name;
  nest.Describe(shape.ElementCount(), KernelCostPerElement(view), phase);
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

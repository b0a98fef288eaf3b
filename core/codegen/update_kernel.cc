// EmitUpdateKernel: a dynamic-update-slice into operand 0's memory: what is not shared is copied first, then
// only the window is written.
#include <algorithm>

#include "core/base/status.h"
#include "core/codegen/loop_nest.h"

namespace shoal {
namespace {

constexpr int64_t kCopyBytes = 1 << 16;  // a unit of copying

}  // namespace

void EmitCopyPhase(absl::Span<const BufferCopy> copies, const std::string& name, IrModule& ir,
                   Kernel& kernel) {
  KernelPhase phase;
  phase.function = name;
  int64_t most = 0, total = 0;
  for (const BufferCopy& copy : copies) {
    most = std::max(most, copy.bytes);
    total += copy.bytes;
  }
  if (total == 0) return;
  phase.units = (most + kCopyBytes - 1) / kCopyBytes;
  phase.grain = 8;
  phase.cost_ns = static_cast<double>(total) * 0.1;
  KernelFunctionEmitter f(ir, name, 1);
  LaneBuilder& lanes = f.lanes();
  auto& b = lanes.b;
  for (const BufferCopy& copy : copies) {
    llvm::Value *from = f.Buffer(copy.from), *to = f.Buffer(copy.to), *size = lanes.I64(copy.bytes);
    auto limit = [&](llvm::Value* unit) {
      return lanes.Intrinsic(llvm::Intrinsic::smin, b.CreateMul(unit, lanes.I64(kCopyBytes)), size);
    };
    absl::Status ignored = EmitIf(lanes, b.CreateICmpNE(from, to), [&] {
      llvm::Value *begin = limit(f.begin()), *end = limit(f.end());
      b.CreateMemCpy(b.CreateGEP(b.getInt8Ty(), to, begin), llvm::MaybeAlign(1),
                     b.CreateGEP(b.getInt8Ty(), from, begin), llvm::MaybeAlign(1), b.CreateSub(end, begin));
      return absl::OkStatus();
    });
    (void)ignored;  // the body cannot fail
  }
  f.Finish();
  kernel.phases.push_back(std::move(phase));
}

absl::StatusOr<Kernel> EmitUpdateKernel(const KernelView& view, const std::string& name, IrModule& ir) {
  const Instruction& op = *view.root;
  const Instruction& update = *op.operand(1);
  const Shape &whole = op.shape(), &window = update.shape();
  Kernel kernel;
  EmitCopyPhase({{view.LeafBuffer(op.operand(0)), view.OutputBuffer(0), whole.ByteSize()}}, name + ".copy",
                ir, kernel);
  if (window.ElementCount() == 0) return kernel;

  std::vector<int64_t> moved;
  for (int64_t d = 0; d < whole.rank(); ++d) {
    if (window.dim(d) != whole.dim(d)) moved.push_back(d);
  }
  KernelView update_view = view;
  update_view.roots = {{&update, 0, window}};
  double cost = KernelCostPerElement(view);
  LoopNest nest(ChooseLoops(update_view, window, moved), update_view, cost);
  KernelPhase phase = nest.Phase(name, window.ElementCount(), cost);
  KernelFunctionEmitter f(ir, name, nest.width());
  f.BindLeaves(view);
  f.lanes().input_scope = nullptr;  // operand 0 and the output may be one
  ElementEmitter& e = f.elements();
  SHOAL_ASSIGN_OR_RETURN(auto starts, EmitStarts(e, op, 2, whole, window.dims()));
  DimVector strides = RowMajorStrides(whole.dims());
  Index start = e.index().Constant(0);
  std::vector<int64_t> kept(whole.rank());
  for (int64_t d = 0; d < whole.rank(); ++d) {
    kept[d] = starts[d].has_value() ? -1 : d;
    if (starts[d].has_value()) start = e.index().Add(start, e.index().Mul(*starts[d], strides[d]));
  }
  ElementType type = whole.element_type();
  llvm::Value* bytes = e.b().CreateMul(start.base, f.lanes().I64(ByteWidth(type)));
  llvm::Value* target = e.b().CreateGEP(e.b().getInt8Ty(), f.Buffer(view.OutputBuffer(0)), bytes);
  auto body = [&](const Digits& at, llvm::Value* mask) -> absl::Status {
    ElementEmitter::Scope scope(e);
    e.set_mask(mask);
    SHOAL_ASSIGN_OR_RETURN(Element value, e.Emit(update, at));
    e.set_mask(nullptr);
    Digits out = e.index().Move(at, window, whole, kept);
    for (int64_t d : moved) {
      if (window.dim(d) > 1) out.push_back({e.index().Dimension(at, window, d), strides[d], whole.dim(d)});
    }
    StoreAt(f.lanes(), e.index(), type, value, target, out, mask);
    return absl::OkStatus();
  };
  SHOAL_RETURN_IF_ERROR(nest.Emit(f, body));
  f.Finish();
  kernel.phases.push_back(std::move(phase));
  return kernel;
}

}  // namespace shoal

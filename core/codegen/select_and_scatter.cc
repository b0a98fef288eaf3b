// EmitSelectAndScatterKernel: the gradient of pooling. For each element of the source its window of the
// operand is searched for the selected element, and the source is combined into the result there.
#include <algorithm>

#include "core/base/status.h"
#include "core/codegen/loop_nest.h"
#include "core/codegen/window_position.h"

namespace shoal {
namespace {

class SelectAndScatterEmitter {
 public:
  SelectAndScatterEmitter(const KernelView& view, const std::string& name, IrModule& ir)
      : view_(view),
        op_(*view.root),
        window_(op_.attributes<WindowAttributes>().window),
        name_(name),
        ir_(ir),
        operand_(op_.operand(0)->shape()),
        source_(op_.operand(1)->shape()) {}

  absl::StatusOr<Kernel> Emit() {
    Kernel kernel;
    if (op_.shape().ElementCount() == 0) return kernel;
    SHOAL_RETURN_IF_ERROR(EmitFill(kernel));
    if (source_.ElementCount() == 0) return kernel;
    // Windows that differ in a dimension where each holds one element and moves by one do not meet.
    bool apart = source_.rank() > 0 && window_[0].size == 1 && window_[0].stride == 1;
    KernelPhase phase;
    phase.function = name_;
    phase.units = apart ? source_.dim(0) : 1;
    int64_t taps = 1;
    for (const WindowDimension& w : window_) taps *= w.size;
    phase.cost_ns = static_cast<double>(source_.ElementCount() * taps) * 2;
    KernelFunctionEmitter f(ir_, name_, 1);
    f.BindLeaves(view_);
    std::vector<Index> at(source_.rank());
    LaneBuilder& lanes = f.lanes();
    if (apart) {
      SHOAL_RETURN_IF_ERROR(EmitLoop(lanes, f.begin(), f.end(), 1, [&](llvm::Value* i) {
        at[0] = f.elements().index().Uniform(i);
        return OverSource(f, at, 1);
      }));
    } else {
      SHOAL_RETURN_IF_ERROR(
          EmitIf(lanes, lanes.b.CreateICmpSLT(f.begin(), f.end()), [&] { return OverSource(f, at, 0); }));
    }
    f.Finish();
    kernel.phases.push_back(std::move(phase));
    return kernel;
  }

 private:
  // The result begins as the initial value everywhere.
  absl::Status EmitFill(Kernel& kernel) {
    int64_t elements = op_.shape().ElementCount();
    LoopNest nest(LoopSpace{{elements}, {1}}, view_, 0.1);
    KernelPhase phase = nest.Phase(name_ + ".fill", elements, 0.1);
    KernelFunctionEmitter f(ir_, phase.function, nest.width());
    f.BindLeaves(view_);
    SHOAL_RETURN_IF_ERROR(nest.Emit(f, [&](const Digits& at, llvm::Value* mask) -> absl::Status {
      SHOAL_ASSIGN_OR_RETURN(Element initial, f.elements().Emit(*op_.operand(2), {}));
      StoreAt(f.lanes(), f.elements().index(), op_.shape().element_type(), initial,
              f.Buffer(view_.OutputBuffer(0)), at, mask);
      return absl::OkStatus();
    }));
    f.Finish();
    kernel.phases.push_back(std::move(phase));
    return absl::OkStatus();
  }

  absl::Status OverSource(KernelFunctionEmitter& f, std::vector<Index>& at, int64_t d) {
    if (d == source_.rank()) return EmitWindow(f, at);
    LaneBuilder& lanes = f.lanes();
    return EmitLoop(lanes, lanes.I64(0), lanes.I64(source_.dim(d)), 1, [&](llvm::Value* i) {
      at[d] = f.elements().index().Uniform(i);
      return OverSource(f, at, d + 1);
    });
  }

  // Carried: the position of the selected element (-1: none yet) and its value.
  absl::Status EmitWindow(KernelFunctionEmitter& f, const std::vector<Index>& at) {
    ElementEmitter& e = f.elements();
    ElementEmitter::Scope scope(e);
    LaneBuilder& lanes = f.lanes();
    auto& b = lanes.b;
    ElementType type = operand_.element_type();
    llvm::Value* zero = llvm::Constant::getNullValue(lanes.RegisterType(type));
    std::vector<Element> like = {{lanes.I64(-1)}, {zero, IsComplex(type) ? zero : nullptr}};
    std::vector<Index> taps;
    SHOAL_ASSIGN_OR_RETURN(Carried best, OverTaps(f, at, taps, Flatten(like), like));
    std::vector<Element> selected = Unflatten(best, like);
    auto combine = [&]() -> absl::Status {
      llvm::Value* out = f.Buffer(view_.OutputBuffer(0));
      Digits position = {{e.index().Uniform(selected[0].re), 1, op_.shape().ElementCount()}};
      Element old = e.Load(op_.shape(), out, position, /*is_input=*/false);
      SHOAL_ASSIGN_OR_RETURN(Element x, e.Emit(*op_.operand(1), e.index().FromDimensions(at, source_)));
      SHOAL_ASSIGN_OR_RETURN(std::vector<Element> next, e.EmitRegion(*op_.called(1), {old, x}));
      StoreAt(lanes, e.index(), op_.shape().element_type(), next[0], out, position, nullptr);
      return absl::OkStatus();
    };
    return EmitIf(lanes, b.CreateICmpSGE(selected[0].re, lanes.I64(0)), combine);
  }

  absl::StatusOr<Carried> OverTaps(KernelFunctionEmitter& f, const std::vector<Index>& at,
                                   std::vector<Index>& taps, Carried current,
                                   absl::Span<const Element> like) {
    LaneBuilder& lanes = f.lanes();
    if (taps.size() == window_.size()) return EmitTap(f, at, taps, current, like);
    return EmitLoopCarrying(lanes, lanes.I64(0), lanes.I64(window_[taps.size()].size), 1, std::move(current),
                            [&](llvm::Value* i, const Carried& now) {
                              taps.push_back(f.elements().index().Uniform(i));
                              auto next = OverTaps(f, at, taps, now, like);
                              taps.pop_back();
                              return next;
                            });
  }

  absl::StatusOr<Carried> EmitTap(KernelFunctionEmitter& f, const std::vector<Index>& at,
                                  const std::vector<Index>& taps, const Carried& current,
                                  absl::Span<const Element> like) {
    ElementEmitter& e = f.elements();
    ElementEmitter::Scope scope(e);
    LaneBuilder& lanes = f.lanes();
    auto& b = lanes.b;
    llvm::Value* inside = nullptr;
    std::vector<Index> position;
    for (size_t d = 0; d < window_.size(); ++d) {
      WindowPosition p = PositionIn(e, window_[d], operand_.dim(static_cast<int64_t>(d)), at[d], taps[d]);
      inside = lanes.AndMask(inside, p.inside);
      position.push_back(p.index);
    }
    Digits digits = e.index().FromDimensions(position, operand_);
    SHOAL_ASSIGN_OR_RETURN(Element candidate, e.EmitMasked(*op_.operand(0), digits, inside));
    std::vector<Element> best = Unflatten(current, like);
    SHOAL_ASSIGN_OR_RETURN(std::vector<Element> keeps, e.EmitRegion(*op_.called(0), {best[1], candidate}));
    llvm::Value* none = b.CreateICmpSLT(best[0].re, lanes.I64(0));
    llvm::Value* take = b.CreateOr(none, b.CreateNot(keeps[0].re));
    if (inside != nullptr) take = b.CreateAnd(take, inside);
    Element linear = {e.index().Value(e.index().Linear(digits))};
    return Flatten({lanes.Select(take, linear, best[0]), lanes.Select(take, candidate, best[1])});
  }

  const KernelView& view_;
  const Instruction& op_;
  const Window& window_;
  const std::string& name_;
  IrModule& ir_;
  const Shape &operand_, &source_;
};

}  // namespace

absl::StatusOr<Kernel> EmitSelectAndScatterKernel(const KernelView& view, const std::string& name,
                                                  IrModule& ir) {
  return SelectAndScatterEmitter(view, name, ir).Emit();
}

}  // namespace shoal

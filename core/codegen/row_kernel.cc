// EmitRowKernel: softmax, layer norms and their gradients: elementwise work and reductions of rows, where
// results of the reductions go back into the rows they came from.
//
// Measured in turn with jaxlib on a busy machine: softmax of f32[4096,4096] takes 22.5 ms of CPU,
// jaxlib's 46.3.
//
// A unit is a row. It is gone over in stages: a stage ends with the reductions whose operands are known by
// then, and the last one writes the results. What a stage needs again is computed again, from operands that
// are in the first-level cache by now; what is dear and comes up in two stages (an exponential) is kept in a
// row on the stack.
#include "core/codegen/row_kernel.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "core/base/status.h"
#include "core/codegen/accumulators.h"
#include "core/codegen/loop_nest.h"

namespace shoal {
namespace {

constexpr double kDearNs = 0.3;                // an element that is worth a store and a load
constexpr int64_t kMaxKeptBytes = 128 * 1024;  // of the stack, for all that is kept of one row
constexpr int64_t kRowVectors = 4;             // accumulators, where a reduction has nothing else to wait for

using Values = Accumulators::Values;
using OpSet = absl::flat_hash_set<const Instruction*>;

// What a kept value is in the row on the stack.
ElementType KeptType(ElementType type) { return IsNarrowFloat(type) ? ElementType::kF32 : type; }

class RowEmitter {
 public:
  RowEmitter(const KernelView& view, const std::string& name, IrModule& ir)
      : view_(view), name_(name), ir_(ir) {
    view.ForEach([&](const Instruction& op) {
      if (op.opcode() == Opcode::kReduce) row_shape_ = op.operand(0)->shape();
    });
    length_ = row_shape_.dim(row_shape_.rank() - 1);
    rows_ = row_shape_.ElementCount() / length_;
    PlanStages();
    PlanKept();
    width_ = ChooseWidth(view, length_);
    cost_ = 0.1 * static_cast<double>(stages_.size());
    view.ForEach([&](const Instruction& op) {
      if (op.opcode() != Opcode::kReduce && IsFull(op)) cost_ += ElementCostNs(op);
    });
  }

  absl::StatusOr<Kernel> Emit() {
    Kernel kernel;
    const double row_ns = cost_ * static_cast<double>(length_) + 30;
    KernelPhase phase = PhaseOf(name_, rows_, row_ns * static_cast<double>(rows_));
    KernelFunctionEmitter f(ir_, name_, width_);
    f.BindLeaves(view_);
    AllocateKept(f);
    SHOAL_RETURN_IF_ERROR(EmitLoop(f.lanes(), f.begin(), f.end(), 1, [&](llvm::Value* unit) {
      ElementEmitter::Scope scope(f.elements());
      return EmitRow(f, RowDigits(f, unit));
    }));
    f.Finish();
    kernel.phases.push_back(std::move(phase));
    return kernel;
  }

 private:
  struct Stage {
    std::vector<const Instruction*> heroes;   // reduces that this stage completes
    std::vector<const Instruction*> dear;     // what it keeps for later ones
    std::vector<const Instruction*> per_row;  // what of a row's results it reads in every element
  };

  bool IsFull(const Instruction& op) const {
    return op.shape().IsArray() && op.shape().dims() == row_shape_.dims();
  }
  std::vector<const Instruction*> FullRoots() const {
    std::vector<const Instruction*> roots;
    for (const KernelRoot& root : view_.roots) {
      if (IsFull(*root.op)) roots.push_back(root.op);
    }
    return roots;
  }
  // What the elements that stage `s` asks for are made of.
  std::vector<const Instruction*> Wanted(size_t s) const {
    std::vector<const Instruction*> wanted;
    for (const Instruction* hero : stages_[s].heroes) wanted.push_back(hero->operand(0));
    if (s + 1 == stages_.size()) {
      std::vector<const Instruction*> roots = FullRoots();
      wanted.insert(wanted.end(), roots.begin(), roots.end());
    }
    return wanted;
  }

  // The stage of an instruction is the number of reductions, one after the other, that it waits for.
  void PlanStages() {
    size_t last = 0;
    view_.ForEach([&](const Instruction& op) {
      size_t stage = 0;
      for (const Instruction* operand : op.operands()) {
        if (auto it = stage_of_.find(operand); it != stage_of_.end()) stage = std::max(stage, it->second);
      }
      if (op.opcode() == Opcode::kReduce) {
        stages_.resize(std::max(stages_.size(), stage + 1));
        stages_[stage].heroes.push_back(&op);
        bound_.insert(&op);
        ++stage;
      }
      for (const Instruction* operand : op.operands()) {
        if (bound_.contains(operand)) bound_.insert(&op);
      }
      stage_of_[&op] = stage;
    });
    for (const Instruction* root : FullRoots()) last = std::max(last, stage_of_.at(root));
    if (!FullRoots().empty()) stages_.resize(std::max(stages_.size(), last + 1));
    for (size_t s = 0; s < stages_.size(); ++s) {
      for (const Instruction* op : Reach(s, {})) {
        if (op->opcode() != Opcode::kBroadcast || !bound_.contains(op->operand(0))) continue;
        stages_[s].per_row.push_back(op->operand(0));
      }
    }
  }

  // The instructions over whole rows that stage `s` computes, if those in `known` are at hand.
  std::vector<const Instruction*> Reach(size_t s, const OpSet& known) const {
    std::vector<const Instruction*> found, stack = Wanted(s);
    OpSet seen;
    while (!stack.empty()) {
      const Instruction* op = stack.back();
      stack.pop_back();
      if (view_.IsLeaf(op) || op->opcode() == Opcode::kReduce || !IsFull(*op) || !seen.insert(op).second)
        continue;
      found.push_back(op);
      if (known.contains(op)) continue;
      for (const Instruction* operand : op->operands()) stack.push_back(operand);
    }
    return found;
  }

  void PlanKept() {
    std::vector<const Instruction*> users_first;
    view_.ForEach([&](const Instruction& op) { users_first.push_back(&op); });
    std::reverse(users_first.begin(), users_first.end());
    OpSet kept;
    int64_t bytes = 0;
    auto needs = [&](size_t s, const Instruction* op) {
      std::vector<const Instruction*> reach = Reach(s, kept);
      return std::find(reach.begin(), reach.end(), op) != reach.end();
    };
    for (size_t s = 0; s + 1 < stages_.size(); ++s) {
      for (const Instruction* op : users_first) {
        int64_t more = length_ * ByteWidth(KeptType(op->shape().IsArray() ? op->shape().element_type()
                                                                          : ElementType::kF64));
        bool dear = IsFull(*op) && ElementCostNs(*op) >= kDearNs && bytes + more <= kMaxKeptBytes;
        if (!dear || kept.contains(op) || stage_of_.at(op) > s || !needs(s, op)) continue;
        bool again = false;
        for (size_t later = s + 1; later < stages_.size(); ++later) again |= needs(later, op);
        if (!again) continue;
        kept.insert(op);
        stages_[s].dear.push_back(op);
        kept_order_.push_back(op);
        bytes += more;
      }
    }
  }

  // Row `unit`, with a digit for each dimension: whatever asks for a row's results does so by the same
  // digits.
  Digits RowDigits(KernelFunctionEmitter& f, llvm::Value* unit) const {
    IndexBuilder& index = f.elements().index();
    Index rest = index.Uniform(unit);
    DimVector strides = RowMajorStrides(row_shape_.dims());
    Digits at;
    for (int64_t d = row_shape_.rank() - 1; d-- > 0;) {
      if (row_shape_.dim(d) == 1) continue;
      at.push_back({index.Rem(rest, row_shape_.dim(d)), strides[d], row_shape_.dim(d)});
      rest = index.Div(rest, row_shape_.dim(d));
    }
    SortByStride(at);
    return at;
  }

  void AllocateKept(KernelFunctionEmitter& f) {
    auto& b = f.lanes().b;
    for (const Instruction* op : kept_order_) {
      int64_t bytes = length_ * ByteWidth(KeptType(op->shape().element_type()));
      llvm::AllocaInst* row =
          b.CreateAlloca(llvm::ArrayType::get(b.getInt8Ty(), static_cast<uint64_t>(bytes)));
      row->setAlignment(llvm::Align(64));
      kept_rows_[op] = row;
    }
  }
  llvm::Value* KeptPointer(KernelFunctionEmitter& f, const Instruction* op, llvm::Value* i) {
    auto& b = f.lanes().b;
    int64_t width = ByteWidth(KeptType(op->shape().element_type()));
    return b.CreateGEP(b.getInt8Ty(), kept_rows_.at(op), b.CreateMul(i, f.lanes().I64(width)));
  }

  // Positions among the rows' results.
  Digits OfRow(const Digits& at) const {
    Digits digits;
    for (const Digit& digit : at) digits.push_back({digit.index, digit.stride / length_, digit.extent});
    return digits;
  }

  absl::Status EmitRow(KernelFunctionEmitter& f, const Digits& at) {
    ElementEmitter& e = f.elements();
    LaneBuilder& lanes = f.lanes();
    const Digits of_row = OfRow(at);
    auto per_row = [&](const Instruction& op) -> absl::StatusOr<Values> {
      lanes.set_width(1);
      auto values = e.EmitTuple(op, of_row);
      lanes.set_width(width_);
      return values;
    };
    for (size_t s = 0; s < stages_.size(); ++s) {
      for (const Instruction* op : stages_[s].per_row) {
        SHOAL_ASSIGN_OR_RETURN(Values values, per_row(*op));
        per_row_values_[op] = values[0];
      }
      SHOAL_RETURN_IF_ERROR(EmitStage(f, at, s));
    }
    for (size_t k = 0; k < view_.roots.size(); ++k) {
      if (IsFull(*view_.roots[k].op)) continue;
      SHOAL_ASSIGN_OR_RETURN(Values values, per_row(*view_.roots[k].op));
      lanes.set_width(1);
      StoreAt(lanes, e.index(), view_.roots[k].shape.element_type(), values[0],
              f.Buffer(view_.OutputBuffer(static_cast<int64_t>(k))), of_row, nullptr);
      lanes.set_width(width_);
    }
    return absl::OkStatus();
  }

  // Goes over the row once. The reductions that end here are bound to their results.
  absl::Status EmitStage(KernelFunctionEmitter& f, const Digits& at, size_t s) {
    ElementEmitter& e = f.elements();
    LaneBuilder& lanes = f.lanes();
    auto& b = lanes.b;
    Accumulators accumulators(stages_[s].heroes, /*wide_sums=*/true);
    SHOAL_ASSIGN_OR_RETURN(Values identity, accumulators.Identity(e));
    size_t n = identity.size();
    bool only_reduces = n > 0 && stages_[s].dear.empty() && s + 1 < stages_.size();
    int64_t vectors = only_reduces && length_ >= 2 * kRowVectors * width_ ? kRowVectors : 1;
    Values start;
    for (int64_t v = 0; v < vectors; ++v) start.insert(start.end(), identity.begin(), identity.end());
    auto tile = [&](llvm::Value* i, const Carried& carried) -> absl::StatusOr<Carried> {
      ElementEmitter::Scope scope(e);
      Values before = Unflatten(carried, start), all;
      for (int64_t v = 0; v < vectors; ++v) {
        auto one = absl::MakeSpan(before).subspan(static_cast<size_t>(v) * n, n);
        SHOAL_ASSIGN_OR_RETURN(Values next, EmitVector(f, at, s, accumulators,
                                                       b.CreateAdd(i, lanes.I64(v * width_)), nullptr, one));
        all.insert(all.end(), next.begin(), next.end());
      }
      return Flatten(all);
    };
    int64_t whole = length_ / (vectors * width_) * (vectors * width_);
    SHOAL_ASSIGN_OR_RETURN(Carried carried, EmitLoopCarrying(lanes, lanes.I64(0), lanes.I64(whole),
                                                             vectors * width_, Flatten(start), tile));
    Values sums = Unflatten(carried, start), sum(sums.begin(), sums.begin() + static_cast<int64_t>(n));
    for (int64_t v = 1; v < vectors; ++v) {
      SHOAL_ASSIGN_OR_RETURN(
          sum, accumulators.Combine(e, sum, absl::MakeSpan(sums).subspan(static_cast<size_t>(v) * n, n)));
    }
    // What is left, a vector at a time, the last one under a mask.
    auto masked = [&](llvm::Value* i, const Carried& current) -> absl::StatusOr<Carried> {
      ElementEmitter::Scope scope(e);
      llvm::Value* numbers = b.CreateAdd(lanes.Splat(i), lanes.LaneNumbers(lanes.i64()));
      llvm::Value* mask = b.CreateICmpSLT(numbers, lanes.Splat(lanes.I64(length_)));
      SHOAL_ASSIGN_OR_RETURN(Values next,
                             EmitVector(f, at, s, accumulators, i, mask, Unflatten(current, identity)));
      return Flatten(next);
    };
    SHOAL_ASSIGN_OR_RETURN(Carried last, EmitLoopCarrying(lanes, lanes.I64(whole), lanes.I64(length_), width_,
                                                          Flatten(sum), masked));
    if (n == 0) return absl::OkStatus();
    SHOAL_ASSIGN_OR_RETURN(Values totals, accumulators.AcrossLanes(e, Unflatten(last, identity)));
    SHOAL_ASSIGN_OR_RETURN(Values results, accumulators.Results(e, std::move(totals)));
    for (size_t k = 0; k < n; ++k) e.BindElement(accumulators[k].hero, OfRow(at), {results[k]});
    return absl::OkStatus();
  }

  // One vector of the row: kept values are loaded or stored, accumulators advance, the last stage stores the
  // roots.
  absl::StatusOr<Values> EmitVector(KernelFunctionEmitter& f, const Digits& row, size_t s,
                                    const Accumulators& accumulators, llvm::Value* i, llvm::Value* mask,
                                    absl::Span<const Element> current) {
    ElementEmitter& e = f.elements();
    LaneBuilder& lanes = f.lanes();
    Digits at = row;
    at.push_back({{i, width_ == 1 ? 0 : 1, nullptr, width_}, 1, length_});
    e.set_mask(mask);
    for (const Instruction* op : stages_[s].per_row) e.BindElement(op, OfRow(row), {per_row_values_.at(op)});
    for (size_t earlier = 0; earlier < s; ++earlier) {
      for (const Instruction* op : stages_[earlier].dear) {
        ElementType type = KeptType(op->shape().element_type());
        e.BindElement(op, at, {lanes.LoadVectorOrScalar(type, KeptPointer(f, op, i), mask)});
      }
    }
    std::vector<Values> values;
    std::vector<const Instruction*> stored = stages_[s].dear;
    if (s + 1 == stages_.size()) {
      for (const Instruction* root : FullRoots()) stored.push_back(root);
    }
    for (const Instruction* op : stored) {
      SHOAL_ASSIGN_OR_RETURN(Values value, e.EmitTuple(*op, at));
      values.push_back(value);
    }
    e.set_mask(nullptr);
    SHOAL_ASSIGN_OR_RETURN(Values next, accumulators.Step(e, at, mask, current));
    size_t k = 0;
    for (const Instruction* op : stages_[s].dear) {
      lanes.Store(KeptType(op->shape().element_type()), values[k++][0], KeptPointer(f, op, i), mask);
    }
    for (size_t r = 0; r < view_.roots.size() && s + 1 == stages_.size(); ++r) {
      if (!IsFull(*view_.roots[r].op)) continue;
      StoreAt(lanes, e.index(), view_.roots[r].shape.element_type(), values[k++][0],
              f.Buffer(view_.OutputBuffer(static_cast<int64_t>(r))), at, mask);
    }
    return next;
  }

  const KernelView& view_;
  const std::string& name_;
  IrModule& ir_;
  Shape row_shape_;
  int64_t rows_ = 1, length_ = 1;
  int width_ = 1;
  double cost_ = 0.1;
  std::vector<Stage> stages_;
  absl::flat_hash_map<const Instruction*, size_t> stage_of_;
  OpSet bound_;  // what depends on a reduction
  std::vector<const Instruction*> kept_order_;
  absl::flat_hash_map<const Instruction*, llvm::Value*> kept_rows_;
  absl::flat_hash_map<const Instruction*, Element> per_row_values_;
};

}  // namespace

absl::StatusOr<Kernel> EmitRowKernel(const KernelView& view, const std::string& name, IrModule& ir) {
  return RowEmitter(view, name, ir).Emit();
}

}  // namespace shoal

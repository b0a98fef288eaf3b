// EmitScanKernel: a reduce-window whose window reaches from each element back to the first one, or on to the
// last one: cumulative sums, products, maxima, and what has a region of its own.
//
// The array is [outer, length, inner] with the scan along the middle. If inner is 1, lanes run along the
// scan: a vector is scanned within itself by doubling steps, and what came before it is combined in.
// Otherwise lanes run over inner. Where outer and inner are too few for all cores, the length is cut into
// chunks of a size that depends on the shape alone: their totals first, then the totals' own scan, then the
// chunks once more from there. Sums of f32 are carried from vector to vector in f64.
#include <algorithm>

#include "core/base/status.h"
#include "core/codegen/accumulators.h"
#include "core/codegen/loop_nest.h"

namespace shoal {
namespace {

constexpr double kElementNs = 0.3;
constexpr double kWorthSplitNs = 40000;  // less work than this stays one chunk
constexpr int64_t kFewUnits = 64;
constexpr int64_t kMostChunk = 1 << 14;  // elements along the scan
constexpr int64_t kScanVectors = 4;      // of neighbouring results, where lanes run over inner

using Values = Accumulators::Values;

class ScanEmitter {
 public:
  ScanEmitter(const KernelView& view, const std::string& name, IrModule& ir, int64_t dimension)
      : view_(view),
        name_(name),
        ir_(ir),
        op_(*view.root),
        narrow_({view.root}, /*wide_sums=*/false),
        accumulators_({view.root}, /*wide_sums=*/true) {
    const Shape& shape = view.roots[0].shape;
    for (int64_t d = 0; d < shape.rank(); ++d) {
      (d < dimension ? outer_ : d == dimension ? length_ : inner_) *= shape.dim(d);
    }
    reverse_ = op_.attributes<WindowAttributes>().window[dimension].padding_low == 0;
    width_ = ChooseWidth(view, is_row() ? length_ : inner_);
    vectors_ = is_row() ? 1 : std::min(kScanVectors, (inner_ + width_ - 1) / width_);
    tiles_ = is_row() ? 1 : (inner_ + vectors_ * width_ - 1) / (vectors_ * width_);
    ChooseChunks();
  }

  absl::StatusOr<Kernel> Emit() {
    Kernel kernel;
    if (chunks_ > 1) {
      int64_t offset = 0;
      for (const Accumulator& a : accumulators_) {
        scratch_offsets_.push_back(offset);
        offset += (outer_ * chunks_ * inner_ * ByteWidth(a.partial) + 63) / 64 * 64;
      }
      kernel.scratch_bytes = offset;
      SHOAL_RETURN_IF_ERROR(EmitOverChunks(kernel, ".totals", /*only_totals=*/true));
      SHOAL_RETURN_IF_ERROR(EmitScanOfTotals(kernel));
    }
    SHOAL_RETURN_IF_ERROR(EmitOverChunks(kernel, "", /*only_totals=*/false));
    return kernel;
  }

 private:
  bool is_row() const { return inner_ == 1; }
  double elements() const { return static_cast<double>(outer_ * length_) * static_cast<double>(inner_); }

  void ChooseChunks() {
    chunk_ = length_;
    if (outer_ * tiles_ < kFewUnits && elements() * kElementNs > kWorthSplitNs) {
      chunk_ = std::min(kMostChunk, std::max<int64_t>(16, (length_ + kFewUnits - 1) / kFewUnits));
    }
    if (is_row()) chunk_ = (chunk_ + width_ - 1) / width_ * width_;
    chunks_ = (length_ + chunk_ - 1) / chunk_;
  }

  // Where a vector lies: element `i` along the scan, `column` along inner.
  Digits At(KernelFunctionEmitter& f, llvm::Value* outer, llvm::Value* i, llvm::Value* column) {
    IndexBuilder& index = f.elements().index();
    Digits at = {{index.Uniform(outer), length_ * inner_, outer_}, {index.Uniform(i), inner_, length_}};
    if (is_row()) {
      at[1].index = {i, width_ == 1 ? 0 : 1, nullptr, width_};
    } else {
      at.push_back({{column, width_ == 1 ? 0 : 1, nullptr, width_}, 1, inner_});
    }
    return at;
  }
  // The same of a chunk among the totals; one number or a vector along inner.
  Digits ChunkAt(KernelFunctionEmitter& f, llvm::Value* outer, llvm::Value* chunk, llvm::Value* column) {
    IndexBuilder& index = f.elements().index();
    Digits at = {{index.Uniform(outer), chunks_ * inner_, outer_}, {index.Uniform(chunk), inner_, chunks_}};
    if (!is_row()) at.push_back({{column, width_ == 1 ? 0 : 1, nullptr, width_}, 1, inner_});
    return at;
  }

  llvm::Value* Scratch(KernelFunctionEmitter& f, size_t accumulator) {
    auto& b = f.lanes().b;
    return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), f.Buffer(view_.scratch_buffer()),
                                        static_cast<uint64_t>(scratch_offsets_[accumulator]));
  }
  Values LoadTotals(KernelFunctionEmitter& f, const Digits& at, llvm::Value* mask) {
    ElementEmitter& e = f.elements();
    Values values;
    e.set_mask(mask);
    for (size_t k = 0; k < accumulators_.size(); ++k) {
      Shape totals = Shape::Array(accumulators_[k].partial, {outer_, chunks_, inner_});
      values.push_back(f.lanes().Splat(e.Load(totals, Scratch(f, k), at, /*is_input=*/false)));
    }
    e.set_mask(nullptr);
    return values;
  }
  void StoreTotals(KernelFunctionEmitter& f, const Digits& at, llvm::Value* mask, const Values& values) {
    for (size_t k = 0; k < values.size(); ++k) {
      StoreAt(f.lanes(), f.elements().index(), accumulators_[k].partial, values[k], Scratch(f, k), at, mask);
    }
  }
  void StoreResults(KernelFunctionEmitter& f, const Digits& at, llvm::Value* mask, const Values& values) {
    for (size_t k = 0; k < values.size(); ++k) {
      ElementType type = accumulators_[k].type;
      Element value = accumulators_.Narrowed(f.elements(), k, values[k]);
      StoreAt(f.lanes(), f.elements().index(), type, f.lanes().RoundTo(type, value),
              f.Buffer(view_.OutputBuffer(static_cast<int64_t>(k))), at, mask);
    }
  }

  // The initial values as such, in all lanes.
  absl::StatusOr<Values> Start(ElementEmitter& e) {
    Values values;
    for (size_t k = 0; k < accumulators_.size(); ++k) {
      const int64_t operand = op_.operand_count() / 2 + accumulators_[k].result;
      SHOAL_ASSIGN_OR_RETURN(Element value, e.Emit(*op_.operand(operand), {}));
      values.push_back(e.lanes().Splat(accumulators_.Widened(e, k, value)));
    }
    return values;
  }

  llvm::Value* MaskBelow(LaneBuilder& lanes, llvm::Value* first, int64_t end) {
    if (end % width_ == 0) return nullptr;
    llvm::Value* numbers = lanes.b.CreateAdd(lanes.Splat(first), lanes.LaneNumbers(lanes.i64()));
    return lanes.b.CreateICmpSLT(numbers, lanes.Splat(lanes.I64(end)));
  }

  // The phase over [outer, chunk, tile]: either leaves each chunk's total or scans it from what came before.
  absl::Status EmitOverChunks(Kernel& kernel, const std::string& suffix, bool only_totals) {
    KernelPhase phase = PhaseOf(name_ + suffix, outer_ * chunks_ * tiles_,
                                elements() * kElementNs * (only_totals ? 0.5 : 1) + 1);
    KernelFunctionEmitter f(ir_, phase.function, width_);
    f.BindLeaves(view_);
    LaneBuilder& lanes = f.lanes();
    auto unit = [&](llvm::Value* u) -> absl::Status {
      ElementEmitter::Scope scope(f.elements());
      IndexBuilder& index = f.elements().index();
      llvm::Value* tile = index.Rem(index.Uniform(u), tiles_).base;
      Index rest = index.Div(index.Uniform(u), tiles_);
      llvm::Value *chunk = index.Rem(rest, chunks_).base, *outer = index.Div(rest, chunks_).base;
      return is_row() ? RowUnit(f, outer, chunk, only_totals)
                      : ColumnUnit(f, outer, chunk, tile, only_totals);
    };
    SHOAL_RETURN_IF_ERROR(EmitLoop(lanes, f.begin(), f.end(), 1, unit));
    f.Finish();
    kernel.phases.push_back(std::move(phase));
    return absl::OkStatus();
  }

  // What is carried into a chunk.
  absl::StatusOr<Values> CarriedIn(KernelFunctionEmitter& f, llvm::Value* outer, llvm::Value* chunk,
                                   llvm::Value* column, llvm::Value* mask) {
    if (chunks_ == 1) return Start(f.elements());
    return LoadTotals(f, ChunkAt(f, outer, chunk, column), mask);
  }

  // v scanned within itself: lane l gets lanes 0..l, or l..width-1 in reverse.
  absl::StatusOr<Values> WithinVector(ElementEmitter& e, Values v, const Values& identity) {
    auto& b = e.b();
    for (int step = 1; step < width_; step *= 2) {
      llvm::SmallVector<int, 64> shift;  // lanes of the second vector are `width_` and up
      for (int lane = 0; lane < width_; ++lane) {
        int from = reverse_ ? lane + step : lane - step;
        shift.push_back(from < 0 || from >= width_ ? width_ + lane : from);
      }
      Values shifted;
      for (size_t k = 0; k < v.size(); ++k) {
        shifted.push_back({b.CreateShuffleVector(v[k].re, identity[k].re, shift),
                           v[k].im ? b.CreateShuffleVector(v[k].im, identity[k].im, shift) : nullptr});
      }
      SHOAL_ASSIGN_OR_RETURN(v, narrow_.Combine(e, shifted, v));
    }
    return v;
  }

  absl::Status RowUnit(KernelFunctionEmitter& f, llvm::Value* outer, llvm::Value* chunk, bool only_totals) {
    ElementEmitter& e = f.elements();
    LaneBuilder& lanes = f.lanes();
    auto& b = lanes.b;
    SHOAL_ASSIGN_OR_RETURN(Values identity, accumulators_.Identity(e));
    SHOAL_ASSIGN_OR_RETURN(Values nothing, narrow_.Identity(e));
    int64_t whole = (length_ + width_ - 1) / width_ * width_;
    llvm::Value* begin = b.CreateMul(chunk, lanes.I64(chunk_));
    llvm::Value* end =
        lanes.Intrinsic(llvm::Intrinsic::smin, b.CreateAdd(begin, lanes.I64(chunk_)), lanes.I64(whole));
    Values start = identity;
    if (!only_totals) {
      SHOAL_ASSIGN_OR_RETURN(start, CarriedIn(f, outer, chunk, nullptr, nullptr));
    }
    auto step = [&](llvm::Value* i, const Carried& carried) -> absl::StatusOr<Carried> {
      ElementEmitter::Scope scope(e);
      Values before = Unflatten(carried, identity);
      if (reverse_) i = b.CreateSub(b.CreateAdd(begin, b.CreateSub(end, i)), lanes.I64(width_));
      llvm::Value* mask = MaskBelow(lanes, i, length_);
      Digits at = At(f, outer, i, nullptr);
      if (only_totals) {
        SHOAL_ASSIGN_OR_RETURN(Values total, accumulators_.Step(e, at, mask, before));
        return Flatten(total);
      }
      SHOAL_ASSIGN_OR_RETURN(Values x, narrow_.Operands(e, at, mask));
      if (mask != nullptr) {
        for (size_t k = 0; k < x.size(); ++k) x[k] = lanes.Select(mask, x[k], nothing[k]);
      }
      SHOAL_ASSIGN_OR_RETURN(Values within, WithinVector(e, x, nothing));
      Values carry = before;
      for (size_t k = 0; k < carry.size(); ++k) carry[k] = accumulators_.Narrowed(e, k, carry[k]);
      SHOAL_ASSIGN_OR_RETURN(Values result, narrow_.Combine(e, carry, within));
      StoreResults(f, at, mask, result);
      // From `within`, not from the result: the next vector waits for one operation only.
      for (size_t k = 0; k < within.size(); ++k) {
        Element last = lanes.Lane(within[k], reverse_ ? 0 : width_ - 1);
        within[k] = lanes.Splat(accumulators_.Widened(e, k, last));
      }
      SHOAL_ASSIGN_OR_RETURN(Values next, accumulators_.Combine(e, before, within));
      return Flatten(next);
    };
    SHOAL_ASSIGN_OR_RETURN(Carried last, EmitLoopCarrying(lanes, begin, end, width_, Flatten(start), step));
    if (!only_totals) return absl::OkStatus();
    SHOAL_ASSIGN_OR_RETURN(Values total, accumulators_.AcrossLanes(e, Unflatten(last, identity)));
    lanes.set_width(1);
    StoreTotals(f, ChunkAt(f, outer, chunk, nullptr), nullptr, total);
    lanes.set_width(width_);
    return absl::OkStatus();
  }

  absl::Status ColumnUnit(KernelFunctionEmitter& f, llvm::Value* outer, llvm::Value* chunk, llvm::Value* tile,
                          bool only_totals) {
    ElementEmitter& e = f.elements();
    LaneBuilder& lanes = f.lanes();
    auto& b = lanes.b;
    SHOAL_ASSIGN_OR_RETURN(Values identity, accumulators_.Identity(e));
    llvm::Value* begin = b.CreateMul(chunk, lanes.I64(chunk_));
    llvm::Value* end =
        lanes.Intrinsic(llvm::Intrinsic::smin, b.CreateAdd(begin, lanes.I64(chunk_)), lanes.I64(length_));
    std::vector<llvm::Value*> columns, masks;
    Values start;
    for (int64_t v = 0; v < vectors_; ++v) {
      columns.push_back(b.CreateAdd(b.CreateMul(tile, lanes.I64(vectors_ * width_)), lanes.I64(v * width_)));
      masks.push_back(MaskBelow(lanes, columns.back(), inner_));
      // A tile past the end has vectors without a single lane: masks say so where inner is no multiple of it.
      if (masks.back() == nullptr && inner_ % (vectors_ * width_) != 0) {
        masks.back() = lanes.Splat(b.CreateICmpSLT(columns.back(), lanes.I64(inner_)));
      }
      Values one = identity;
      if (!only_totals) {
        SHOAL_ASSIGN_OR_RETURN(one, CarriedIn(f, outer, chunk, columns.back(), masks.back()));
      }
      start.insert(start.end(), one.begin(), one.end());
    }
    size_t n = identity.size();
    auto step = [&](llvm::Value* i, const Carried& carried) -> absl::StatusOr<Carried> {
      ElementEmitter::Scope scope(e);
      if (reverse_) i = b.CreateSub(b.CreateAdd(begin, b.CreateSub(end, i)), lanes.I64(1));
      Values before = Unflatten(carried, start), all;
      for (size_t v = 0; v < columns.size(); ++v) {
        Digits at = At(f, outer, i, columns[v]);
        SHOAL_ASSIGN_OR_RETURN(Values x, accumulators_.Operands(e, at, masks[v]));
        SHOAL_ASSIGN_OR_RETURN(Values next,
                               accumulators_.Combine(e, absl::MakeSpan(before).subspan(v * n, n), x));
        if (!only_totals) StoreResults(f, at, masks[v], next);
        all.insert(all.end(), next.begin(), next.end());
      }
      return Flatten(all);
    };
    SHOAL_ASSIGN_OR_RETURN(Carried last, EmitLoopCarrying(lanes, begin, end, 1, Flatten(start), step));
    if (!only_totals) return absl::OkStatus();
    Values totals = Unflatten(last, start);
    for (size_t v = 0; v < columns.size(); ++v) {
      Values one(totals.begin() + static_cast<int64_t>(v * n),
                 totals.begin() + static_cast<int64_t>((v + 1) * n));
      StoreTotals(f, ChunkAt(f, outer, chunk, columns[v]), masks[v], one);
    }
    return absl::OkStatus();
  }

  // Each chunk's total becomes what is carried into it.
  absl::Status EmitScanOfTotals(Kernel& kernel) {
    KernelPhase phase =
        PhaseOf(name_ + ".carries", outer_ * tiles_, 1 + static_cast<double>(outer_ * chunks_ * inner_));
    int width = is_row() ? 1 : width_;
    KernelFunctionEmitter f(ir_, phase.function, width);
    f.BindLeaves(view_);
    ElementEmitter& e = f.elements();
    LaneBuilder& lanes = f.lanes();
    auto& b = lanes.b;
    auto unit = [&](llvm::Value* u) -> absl::Status {
      ElementEmitter::Scope scope(e);
      llvm::Value* tile = e.index().Rem(e.index().Uniform(u), tiles_).base;
      llvm::Value* outer = e.index().Div(e.index().Uniform(u), tiles_).base;
      for (int64_t v = 0; v < vectors_; ++v) {
        llvm::Value* column =
            b.CreateAdd(b.CreateMul(tile, lanes.I64(vectors_ * width_)), lanes.I64(v * width_));
        llvm::Value* mask = nullptr;
        if (!is_row() && inner_ % (vectors_ * width_) != 0) {
          llvm::Value* numbers = b.CreateAdd(lanes.Splat(column), lanes.LaneNumbers(lanes.i64()));
          mask = b.CreateICmpSLT(numbers, lanes.Splat(lanes.I64(inner_)));
        }
        SHOAL_ASSIGN_OR_RETURN(Values start, Start(e));
        auto step = [&](llvm::Value* i, const Carried& carried) -> absl::StatusOr<Carried> {
          ElementEmitter::Scope inner_scope(e);
          if (reverse_) i = b.CreateSub(lanes.I64(chunks_ - 1), i);
          Digits at = ChunkAt(f, outer, i, column);
          Values before = Unflatten(carried, start), total = LoadTotals(f, at, mask);
          StoreTotals(f, at, mask, before);
          SHOAL_ASSIGN_OR_RETURN(Values next, accumulators_.Combine(e, before, total));
          return Flatten(next);
        };
        SHOAL_RETURN_IF_ERROR(
            EmitLoopCarrying(lanes, lanes.I64(0), lanes.I64(chunks_), 1, Flatten(start), step).status());
      }
      return absl::OkStatus();
    };
    SHOAL_RETURN_IF_ERROR(EmitLoop(lanes, f.begin(), f.end(), 1, unit));
    f.Finish();
    kernel.phases.push_back(std::move(phase));
    return absl::OkStatus();
  }

  const KernelView& view_;
  const std::string& name_;
  IrModule& ir_;
  const Instruction& op_;
  Accumulators narrow_;                   // within a vector
  Accumulators accumulators_;             // from vector to vector
  std::vector<int64_t> scratch_offsets_;  // of totals
  int64_t outer_ = 1, length_ = 1, inner_ = 1;
  bool reverse_ = false;
  int width_ = 1;
  int64_t vectors_ = 1,
          tiles_ = 1;  // vectors along inner that a unit takes, and how many such units there are
  int64_t chunk_ = 1, chunks_ = 1;
};

}  // namespace

std::optional<int64_t> ScanDimension(const Instruction& op) {
  if (op.opcode() != Opcode::kReduceWindow) return std::nullopt;
  const Shape& shape = op.operand(0)->shape();
  std::optional<int64_t> along;
  const Window& window = op.attributes<WindowAttributes>().window;
  for (size_t d = 0; d < window.size(); ++d) {
    const WindowDimension& w = window[d];
    if (w.stride != 1 || w.window_dilation != 1 || w.base_dilation != 1) return std::nullopt;
    if (w.size == 1 && w.padding_low == 0 && w.padding_high == 0) continue;
    bool to_first = w.padding_low == w.size - 1 && w.padding_high == 0;
    bool to_last = w.padding_high == w.size - 1 && w.padding_low == 0;
    if (along.has_value() || !(to_first || to_last) || w.size < shape.dim(static_cast<int64_t>(d)))
      return std::nullopt;
    along = static_cast<int64_t>(d);
  }
  return shape.ElementCount() == 0 ? std::nullopt : along;
}

absl::StatusOr<Kernel> EmitScanKernel(const KernelView& view, const std::string& name, IrModule& ir) {
  return ScanEmitter(view, name, ir, *ScanDimension(*view.root)).Emit();
}

}  // namespace shoal

// EmitReduceKernel: reductions as the point of a kernel, with whatever elementwise work stands before and
// after them.
//
// If the innermost digit is reduced ("row"), lanes run along it in several independent accumulators, which
// are combined at the end. If it is kept ("column"), lanes run over neighbouring results, a tile of several
// vectors at a time, and the reduced digits are loops around them. A long reduction is cut into chunks of
// fixed size: they bound the error of float sums, and they are units, so that few results still keep all
// cores busy. Their partial results go to scratch, and a second phase combines them in order: the bits depend
// on the shape alone.
#include <algorithm>

#include "core/base/status.h"
#include "core/codegen/accumulators.h"
#include "core/codegen/loop_nest.h"
#include "core/jit/cpu.h"

namespace shoal {
namespace {

constexpr int64_t kRowVectors =
    4;  // independent accumulators of a row: an add takes 4 cycles, two start in each
constexpr int64_t kColumnVectors = 4;       // vectors of results in a tile
constexpr int64_t kWideColumnVectors = 16;  // of long rows: a row's part is then a stream for the prefetcher
constexpr int64_t kRowBlock = 256;          // steps of kRowVectors vectors until the accumulators are emptied
constexpr int64_t kColumnChunk = 2048;      // elements that one accumulator lane of a column takes in
constexpr double kWorthSplitNs = 40000;     // less work than this stays one chunk for the sake of parallelism

class ReduceEmitter {
 public:
  ReduceEmitter(const KernelView& view, const std::string& name, IrModule& ir)
      : view_(view),
        name_(name),
        ir_(ir),
        heroes_(HeroReduces(view)),
        accumulators_(heroes_, /*wide_sums=*/true),
        space_(ChooseReduceLoops(view, heroes_)) {
    Plan();
  }

  absl::StatusOr<Kernel> Emit() {
    Kernel kernel;
    SHOAL_RETURN_IF_ERROR(EmitMain(kernel));
    if (chunks_ > 1) {
      kernel.scratch_bytes = scratch_bytes_;
      SHOAL_RETURN_IF_ERROR(EmitCombine(kernel));
    }
    return kernel;
  }

 private:
  bool is_row() const { return space_.reduced.back(); }

  void Plan() {
    cost_ = KernelCostPerElement(view_) / 2;
    for (size_t k = 0; k < space_.extents.size(); ++k) {
      (space_.reduced[k] ? reduced_total_ : outputs_) *= space_.extents[k];
    }
    // The cost of the heroes themselves counts every reduced element; per element it is that over their
    // number.
    cost_ = std::max(0.05, cost_ / static_cast<double>(std::max<int64_t>(1, reduced_total_)));
    int64_t last = space_.extents.back();
    width_ = ChooseWidth(view_, last);
    vectors_ = is_row() ? (last >= 2 * kRowVectors * width_ ? kRowVectors : 1)
                        : std::min<int64_t>(ColumnVectors(last), (last + width_ - 1) / width_);
    tile_ = width_ * vectors_;
    tiles_ = is_row() ? 1 : (last + tile_ - 1) / tile_;
    ChooseChunks();
    int64_t offset = 0;
    for (const Accumulator& a : accumulators_) {
      scratch_offsets_.push_back(offset);
      offset += (chunks_ * outputs_ * ByteWidth(a.partial) + 63) / 64 * 64;
    }
    scratch_bytes_ = offset;
  }

  int64_t ColumnVectors(int64_t columns) const {
    bool wide = ThisCpu().vector_bytes == 64 && accumulators_.size() == 1 &&
                accumulators_[0].monoid.has_value() && columns >= 2 * kWideColumnVectors * width_;
    if (!wide) return kColumnVectors;
    return accumulators_[0].partial == accumulators_[0].type ? kWideColumnVectors : kWideColumnVectors / 2;
  }

  void ChooseChunks() {
    // The longest reduced digit is the one to cut.
    for (size_t k = 0; k < space_.extents.size(); ++k) {
      if (!space_.reduced[k]) continue;
      if (chunked_digit_ < 0 || space_.extents[k] > space_.extents[chunked_digit_])
        chunked_digit_ = static_cast<int>(k);
    }
    int64_t extent = space_.extents[chunked_digit_];
    chunk_ = extent;
    int64_t units = is_row() ? outputs_ : outputs_ / space_.extents.back() * tiles_;
    double work = cost_ * static_cast<double>(outputs_) * static_cast<double>(reduced_total_);
    bool row_digit = is_row() && chunked_digit_ + 1 == static_cast<int>(space_.extents.size());
    int64_t rest = reduced_total_ / extent;
    if (row_digit) {
      // Long rows are emptied into a second accumulator anyway: chunks are for parallelism alone.
      int64_t step = tile_ * kRowBlock;
      if (units < 64 && work > kWorthSplitNs && extent >= 2 * step) chunk_ = step;
      while (extent / chunk_ > 4096) chunk_ *= 2;
    } else {
      bool inaccurate = reduced_total_ > 2 * kColumnChunk;
      bool idle = units < 64 && work > kWorthSplitNs;
      if (inaccurate) chunk_ = std::max<int64_t>(1, kColumnChunk / rest);
      if (idle) chunk_ = std::min(chunk_, std::max<int64_t>(1, (extent + 63) / 64));
      while (extent / chunk_ * outputs_ > (int64_t{1} << 22) && chunk_ < extent) chunk_ *= 2;
    }
    chunks_ = (extent + chunk_ - 1) / chunk_;
  }

  // ---- the main phase ----

  absl::Status EmitMain(Kernel& kernel) {
    KernelFunctionEmitter f(ir_, name_, width_);
    f.BindLeaves(view_);
    int64_t kept_units = is_row() ? outputs_ : outputs_ / space_.extents.back() * tiles_;
    KernelPhase phase =
        PhaseOf(name_, kept_units * chunks_,
                cost_ * static_cast<double>(outputs_) * static_cast<double>(reduced_total_) + 1);
    SHOAL_RETURN_IF_ERROR(
        EmitLoop(f.lanes(), f.begin(), f.end(), 1, [&](llvm::Value* unit) { return EmitUnit(f, unit); }));
    f.Finish();
    kernel.phases.push_back(std::move(phase));
    return absl::OkStatus();
  }

  absl::Status EmitUnit(KernelFunctionEmitter& f, llvm::Value* unit) {
    ElementEmitter& e = f.elements();
    ElementEmitter::Scope scope(e);
    IndexBuilder& index = e.index();
    Index rest = index.Uniform(unit);
    llvm::Value* chunk = index.Rem(rest, chunks_).base;
    rest = index.Div(rest, chunks_);
    llvm::Value* tile = nullptr;
    if (!is_row()) {
      tile = index.Rem(rest, tiles_).base;
      rest = index.Div(rest, tiles_);
    }
    Digits at(space_.extents.size());
    for (size_t k = 0; k < at.size(); ++k) at[k] = {Index{}, space_.strides[k], space_.extents[k]};
    for (size_t k = at.size() - (is_row() ? 0 : 1); k-- > 0;) {
      if (space_.reduced[k]) continue;
      at[k].index = index.Rem(rest, space_.extents[k]);
      rest = index.Div(rest, space_.extents[k]);
    }
    if (is_row()) return EmitRowUnit(f, at, chunk);
    // The last tile may be short: it runs under masks.
    int64_t columns = space_.extents.back();
    if (columns % tile_ == 0) return EmitColumnUnit(f, at, chunk, tile, false);
    if (tiles_ == 1) return EmitColumnUnit(f, at, chunk, tile, true);
    llvm::Value* is_last = f.lanes().b.CreateICmpEQ(tile, f.lanes().I64(tiles_ - 1));
    SHOAL_RETURN_IF_ERROR(EmitIf(f.lanes(), f.lanes().b.CreateNot(is_last),
                                 [&] { return EmitColumnUnit(f, at, chunk, tile, false); }));
    return EmitIf(f.lanes(), is_last, [&] { return EmitColumnUnit(f, at, chunk, tile, true); });
  }

  // Runs `body` in loops over the reduced digits before `last`, from digit `k` on.
  absl::StatusOr<Carried> OverReduced(KernelFunctionEmitter& f, Digits& at, size_t k, size_t last,
                                      llvm::Value* chunk, Carried initial,
                                      absl::FunctionRef<absl::StatusOr<Carried>(const Carried&)> body) {
    while (k < last && !space_.reduced[k]) ++k;
    if (k == last) return body(initial);
    auto [begin, end] = Range(f, k, chunk);
    return EmitLoopCarrying(f.lanes(), begin, end, 1, std::move(initial),
                            [&](llvm::Value* i, const Carried& current) {
                              at[k].index = f.elements().index().Uniform(i);
                              return OverReduced(f, at, k + 1, last, chunk, current, body);
                            });
  }

  // What of digit k this chunk covers.
  std::pair<llvm::Value*, llvm::Value*> Range(KernelFunctionEmitter& f, size_t k, llvm::Value* chunk) {
    LaneBuilder& lanes = f.lanes();
    llvm::Value* extent = lanes.I64(space_.extents[k]);
    if (chunks_ == 1 || static_cast<int>(k) != chunked_digit_) return {lanes.I64(0), extent};
    llvm::Value* begin = lanes.b.CreateMul(chunk, lanes.I64(chunk_));
    llvm::Value* end = lanes.b.CreateAdd(begin, lanes.I64(chunk_));
    return {begin, lanes.Intrinsic(llvm::Intrinsic::smin, end, extent)};
  }

  Digits RowAt(const Digits& at, llvm::Value* i) {
    Digits result = at;
    result.back().index = {i, width_ == 1 ? 0 : 1, nullptr, width_};
    return result;
  }

  absl::Status EmitRowUnit(KernelFunctionEmitter& f, Digits& at, llvm::Value* chunk) {
    ElementEmitter& e = f.elements();
    LaneBuilder& lanes = f.lanes();
    size_t last = at.size() - 1;
    SHOAL_ASSIGN_OR_RETURN(std::vector<Element> identity, accumulators_.Identity(e));
    auto whole_row = [&](const Carried& current) -> absl::StatusOr<Carried> {
      auto [begin, end] = Range(f, last, chunk);
      llvm::Value* row_end = end;
      return EmitLoopCarrying(
          lanes, begin, row_end, tile_ * kRowBlock, current,
          [&](llvm::Value* block, const Carried& total) -> absl::StatusOr<Carried> {
            ElementEmitter::Scope scope(e);
            SHOAL_ASSIGN_OR_RETURN(std::vector<Element> sum, RowBlock(f, at, block, row_end, identity));
            SHOAL_ASSIGN_OR_RETURN(std::vector<Element> next,
                                   accumulators_.Combine(e, Unflatten(total, identity), sum));
            return Flatten(next);
          });
    };
    SHOAL_ASSIGN_OR_RETURN(Carried total, OverReduced(f, at, 0, last, chunk, Flatten(identity), whole_row));
    SHOAL_ASSIGN_OR_RETURN(std::vector<Element> values,
                           accumulators_.AcrossLanes(e, Unflatten(total, identity)));
    lanes.set_width(1);
    absl::Status status = Deliver(f, KeptDigits(at), chunk, nullptr, values);
    lanes.set_width(width_);
    return status;
  }

  // A tile of vectors from `i` on, into one set of sums that widen, or each into its own.
  absl::StatusOr<std::vector<Element>> TileStep(KernelFunctionEmitter& f, const Digits& at, llvm::Value* i,
                                                std::vector<Element> sums) {
    ElementEmitter& e = f.elements();
    std::vector<Digits> positions;
    for (int64_t v = 0; v < vectors_; ++v) {
      positions.push_back(RowAt(at, f.lanes().b.CreateAdd(i, f.lanes().I64(v * width_))));
    }
    if (accumulators_.widens()) {
      SHOAL_ASSIGN_OR_RETURN(std::vector<Element> tile, accumulators_.SumOfOperands(e, positions));
      return accumulators_.Combine(e, sums, tile);
    }
    const size_t n = accumulators_.size();
    std::vector<Element> next;
    for (size_t v = 0; v < positions.size(); ++v) {
      SHOAL_ASSIGN_OR_RETURN(
          std::vector<Element> one,
          accumulators_.Step(e, positions[v], nullptr, absl::MakeSpan(sums).subspan(v * n, n)));
      next.insert(next.end(), one.begin(), one.end());
    }
    return next;
  }

  // At most kRowBlock steps from `begin` on: kRowVectors at once, then one at a time, then what is left under
  // a mask.
  absl::StatusOr<std::vector<Element>> RowBlock(KernelFunctionEmitter& f, const Digits& at,
                                                llvm::Value* begin, llvm::Value* row_end,
                                                absl::Span<const Element> identity) {
    ElementEmitter& e = f.elements();
    LaneBuilder& lanes = f.lanes();
    auto& b = lanes.b;
    llvm::Value* end = b.CreateAdd(begin, lanes.I64(tile_ * kRowBlock));
    end = lanes.Intrinsic(llvm::Intrinsic::smin, end, row_end);
    llvm::Value* length = b.CreateSub(end, begin);
    llvm::Value* tiles_end =
        b.CreateAdd(begin, b.CreateMul(b.CreateUDiv(length, lanes.I64(tile_)), lanes.I64(tile_)));
    llvm::Value* vectors_end =
        b.CreateAdd(begin, b.CreateMul(b.CreateUDiv(length, lanes.I64(width_)), lanes.I64(width_)));
    Carried several;
    std::vector<Element> like;
    // Sums that widen take in a tile at once: one addition in f64 for all its vectors.
    const int64_t accumulated = accumulators_.widens() ? 1 : vectors_;
    for (int64_t v = 0; v < accumulated; ++v) like.insert(like.end(), identity.begin(), identity.end());
    several = Flatten(like);
    size_t n = identity.size();
    auto tile_step = [&](llvm::Value* i, const Carried& current) -> absl::StatusOr<Carried> {
      ElementEmitter::Scope scope(e);
      SHOAL_ASSIGN_OR_RETURN(std::vector<Element> next, TileStep(f, at, i, Unflatten(current, like)));
      return Flatten(next);
    };
    SHOAL_ASSIGN_OR_RETURN(several, EmitLoopCarrying(lanes, begin, tiles_end, tile_, several, tile_step));
    std::vector<Element> sums = Unflatten(several, like);
    std::vector<Element> sum(sums.begin(), sums.begin() + static_cast<int64_t>(n));
    for (int64_t v = 1; v < accumulated; ++v) {
      SHOAL_ASSIGN_OR_RETURN(
          sum, accumulators_.Combine(e, sum, absl::MakeSpan(sums).subspan(static_cast<size_t>(v) * n, n)));
    }
    auto vector_step = [&](llvm::Value* i, const Carried& current) -> absl::StatusOr<Carried> {
      ElementEmitter::Scope scope(e);
      SHOAL_ASSIGN_OR_RETURN(std::vector<Element> next,
                             accumulators_.Step(e, RowAt(at, i), nullptr, Unflatten(current, identity)));
      return Flatten(next);
    };
    if (vectors_ > 1 && space_.extents.back() % tile_ != 0) {
      SHOAL_ASSIGN_OR_RETURN(
          Carried rest, EmitLoopCarrying(lanes, tiles_end, vectors_end, width_, Flatten(sum), vector_step));
      sum = Unflatten(rest, identity);
    }
    if (space_.extents.back() % width_ == 0) return sum;
    auto masked_step = [&](llvm::Value* i, const Carried& current) -> absl::StatusOr<Carried> {
      ElementEmitter::Scope scope(e);
      llvm::Value* numbers = b.CreateAdd(lanes.Splat(i), lanes.LaneNumbers(lanes.i64()));
      llvm::Value* mask = b.CreateICmpSLT(numbers, lanes.Splat(end));
      SHOAL_ASSIGN_OR_RETURN(std::vector<Element> next,
                             accumulators_.Step(e, RowAt(at, i), mask, Unflatten(current, identity)));
      return Flatten(next);
    };
    SHOAL_ASSIGN_OR_RETURN(Carried rest,
                           EmitLoopCarrying(lanes, vectors_end, end, width_, Flatten(sum), masked_step));
    return Unflatten(rest, identity);
  }

  absl::Status EmitColumnUnit(KernelFunctionEmitter& f, Digits at, llvm::Value* chunk, llvm::Value* tile,
                              bool masked) {
    ElementEmitter& e = f.elements();
    LaneBuilder& lanes = f.lanes();
    auto& b = lanes.b;
    ElementEmitter::Scope outer_scope(e);
    size_t last = at.size() - 1;
    SHOAL_ASSIGN_OR_RETURN(std::vector<Element> identity, accumulators_.Identity(e));
    std::vector<Element> like;
    std::vector<llvm::Value*> columns, masks;
    for (int64_t v = 0; v < vectors_; ++v) {
      like.insert(like.end(), identity.begin(), identity.end());
      llvm::Value* column = b.CreateAdd(b.CreateMul(tile, lanes.I64(tile_)), lanes.I64(v * width_));
      columns.push_back(column);
      llvm::Value* numbers = b.CreateAdd(lanes.Splat(column), lanes.LaneNumbers(lanes.i64()));
      masks.push_back(masked ? b.CreateICmpSLT(numbers, lanes.Splat(lanes.I64(space_.extents.back())))
                             : nullptr);
    }
    size_t n = identity.size();
    auto body = [&](const Carried& current) -> absl::StatusOr<Carried> {
      ElementEmitter::Scope scope(e);
      std::vector<Element> sums = Unflatten(current, like), next;
      for (size_t v = 0; v < columns.size(); ++v) {
        SHOAL_ASSIGN_OR_RETURN(
            std::vector<Element> one,
            accumulators_.Step(e, RowAt(at, columns[v]), masks[v], absl::MakeSpan(sums).subspan(v * n, n)));
        next.insert(next.end(), one.begin(), one.end());
      }
      return Flatten(next);
    };
    SHOAL_ASSIGN_OR_RETURN(Carried total, OverReduced(f, at, 0, last, chunk, Flatten(like), body));
    std::vector<Element> sums = Unflatten(total, like);
    for (size_t v = 0; v < columns.size(); ++v) {
      std::vector<Element> values(sums.begin() + static_cast<int64_t>(v * n),
                                  sums.begin() + static_cast<int64_t>((v + 1) * n));
      SHOAL_RETURN_IF_ERROR(Deliver(f, KeptDigits(RowAt(at, columns[v])), chunk, masks[v], values));
    }
    return absl::OkStatus();
  }

  // Positions among the results: the kept digits, close together.
  Digits KeptDigits(const Digits& at) {
    Digits kept;
    int64_t stride = 1;
    for (size_t k = at.size(); k-- > 0;) {
      if (space_.reduced[k] || at[k].extent == 1) continue;
      kept.push_back({at[k].index, stride, at[k].extent});
      stride *= at[k].extent;
    }
    SortByStride(kept);
    return kept;
  }

  // ---- what happens with results ----

  absl::Status Deliver(KernelFunctionEmitter& f, const Digits& out, llvm::Value* chunk, llvm::Value* mask,
                       std::vector<Element> values) {
    if (chunks_ == 1) return Finish(f, out, mask, std::move(values));
    Digits in_scratch = out;
    in_scratch.push_back({f.elements().index().Uniform(chunk), outputs_, chunks_});
    for (size_t i = 0; i < values.size(); ++i) {
      StoreAt(f.lanes(), f.elements().index(), accumulators_[i].partial, values[i], ScratchPointer(f, i),
              in_scratch, mask);
    }
    return absl::OkStatus();
  }

  llvm::Value* ScratchPointer(KernelFunctionEmitter& f, size_t accumulator) {
    auto& b = f.lanes().b;
    return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), f.Buffer(view_.scratch_buffer()),
                                        static_cast<uint64_t>(scratch_offsets_[accumulator]));
  }

  // Applies the initial value, rounds, computes what stands after the reductions, and stores.
  absl::Status Finish(KernelFunctionEmitter& f, const Digits& out, llvm::Value* mask,
                      std::vector<Element> values) {
    ElementEmitter& e = f.elements();
    ElementEmitter::Scope scope(e);
    SHOAL_ASSIGN_OR_RETURN(values, accumulators_.Results(e, std::move(values)));
    absl::flat_hash_map<const Instruction*, std::vector<Element>> results;
    for (size_t i = 0; i < values.size(); ++i) results[accumulators_[i].hero].push_back(values[i]);
    e.set_mask(mask);
    for (const auto& [hero, elements] : results) e.BindElement(hero, out, elements);
    std::vector<Element> finished;
    for (const KernelRoot& root : view_.roots) {
      SHOAL_ASSIGN_OR_RETURN(std::vector<Element> all, e.EmitTuple(*root.op, out));
      finished.push_back(all[root.result]);
    }
    e.set_mask(nullptr);
    for (size_t k = 0; k < view_.roots.size(); ++k) {
      StoreAt(f.lanes(), e.index(), view_.roots[k].shape.element_type(), finished[k],
              f.Buffer(view_.OutputBuffer(static_cast<int64_t>(k))), out, mask);
    }
    return absl::OkStatus();
  }

  // The second phase: partial results, chunk after chunk, lanes over neighbouring outputs.
  absl::Status EmitCombine(Kernel& kernel) {
    LoopSpace space{{outputs_}, {1}};
    double cost = 0.1 * static_cast<double>(chunks_);
    LoopNest nest(space, ChooseWidth(view_, outputs_), cost);
    KernelPhase phase = nest.Phase(name_ + ".combine", outputs_, cost);
    KernelFunctionEmitter f(ir_, phase.function, nest.width());
    f.BindLeaves(view_);
    ElementEmitter& e = f.elements();
    auto body = [&](const Digits& at, llvm::Value* mask) -> absl::Status {
      ElementEmitter::Scope scope(e);
      SHOAL_ASSIGN_OR_RETURN(std::vector<Element> identity, accumulators_.Identity(e));
      auto step = [&](llvm::Value* chunk, const Carried& current) -> absl::StatusOr<Carried> {
        Digits in_scratch = at;
        in_scratch.push_back({e.index().Uniform(chunk), outputs_, chunks_});
        std::vector<Element> x;
        e.set_mask(mask);
        for (size_t i = 0; i < accumulators_.size(); ++i) {
          Shape partials = Shape::Array(accumulators_[i].partial, {chunks_, outputs_});
          x.push_back(
              e.lanes().Splat(e.Load(partials, ScratchPointer(f, i), in_scratch, /*is_input=*/false)));
        }
        e.set_mask(nullptr);
        SHOAL_ASSIGN_OR_RETURN(std::vector<Element> next,
                               accumulators_.Combine(e, Unflatten(current, identity), x));
        return Flatten(next);
      };
      SHOAL_ASSIGN_OR_RETURN(
          Carried total,
          EmitLoopCarrying(e.lanes(), e.lanes().I64(0), e.lanes().I64(chunks_), 1, Flatten(identity), step));
      return Finish(f, at, mask, Unflatten(total, identity));
    };
    SHOAL_RETURN_IF_ERROR(nest.Emit(f, body));
    f.Finish();
    kernel.phases.push_back(std::move(phase));
    return absl::OkStatus();
  }

  const KernelView& view_;
  const std::string& name_;
  IrModule& ir_;
  std::vector<const Instruction*> heroes_;
  Accumulators accumulators_;
  std::vector<int64_t> scratch_offsets_;  // of partial results
  ReduceSpace space_;
  int width_ = 1;
  int64_t vectors_ = 1, tile_ = 1, tiles_ = 1;  // lanes in an accumulator, all accumulators; column tiles
  int64_t outputs_ = 1, reduced_total_ = 1;
  int chunked_digit_ = -1;
  int64_t chunk_ = 1, chunks_ = 1;
  int64_t scratch_bytes_ = 0;
  double cost_ = 0.1;
};

bool AgreeInDims(const Instruction& a, const Instruction& b) {
  return a.operand(0)->shape().dims() == b.operand(0)->shape().dims() && a.dimensions() == b.dimensions();
}

}  // namespace

std::vector<const Instruction*> HeroReduces(const KernelView& view) {
  std::vector<const Instruction*> heroes, stack;
  absl::flat_hash_set<const Instruction*> seen;
  for (const KernelRoot& root : view.roots) stack.push_back(root.op);
  while (!stack.empty()) {
    const Instruction* op = stack.back();
    stack.pop_back();
    if (!seen.insert(op).second || view.IsLeaf(op)) continue;
    if (op->opcode() == Opcode::kReduce) {
      heroes.push_back(op);
      continue;
    }
    bool through = FamilyOf(op->opcode()) == OpFamily::kElementwise || op->opcode() == Opcode::kReshape ||
                   op->opcode() == Opcode::kBitcast || op->opcode() == Opcode::kGetTupleElement;
    if (!through || op->opcode() == Opcode::kBitcastConvert) continue;
    for (const Instruction* operand : op->operands()) {
      if (!operand->shape().IsScalar() || op->shape().ElementCount() == 1) stack.push_back(operand);
    }
  }
  std::sort(heroes.begin(), heroes.end(), [](auto* a, auto* b) { return a->id() < b->id(); });
  for (const Instruction* hero : heroes) {
    if (!AgreeInDims(*hero, *heroes[0])) return {};
    if (hero->operand(0)->shape().ElementCount() == 0 || hero->operand(0)->shape().ElementCount() == 1)
      return {};
    if (hero->dimensions().empty()) return {};
    bool reduces_nothing = true;
    for (int64_t d : hero->dimensions()) reduces_nothing &= hero->operand(0)->shape().dim(d) == 1;
    if (reduces_nothing) return {};
  }
  return heroes;
}

absl::StatusOr<Kernel> EmitReduceKernel(const KernelView& view, const std::string& name, IrModule& ir) {
  return ReduceEmitter(view, name, ir).Emit();
}

}  // namespace shoal

// EmitScatterKernel: the operands are copied (unless the outputs are the same memory), then update after
// update is combined into them, in order, so that results are the same in every run. Lanes run over the
// innermost dimension of the window, where no two updates meet.
//
// A big scatter is split by where updates go: a unit is a range of one indexed dimension of the operand, and
// does the updates that fall into it, in their order. Each call looks at all indices, and lists those of its
// range without a branch that a random index would mispredict.
//
// Many updates that are added to few numbers are added in f64, in the scratch block, and rounded at the end:
// 10^8 floats that go to three places keep 1e-7 of their sums, where f32 has 1e-4.
#include <algorithm>

#include "core/base/status.h"
#include "core/codegen/loop_nest.h"
#include "core/jit/cpu.h"
#include "core/ops/reduction.h"

namespace shoal {
namespace {

constexpr double kWorthSplitNs = 100000;  // less work than this stays one unit
constexpr int64_t kMaxParts = 64;         // ranges of the operand
// Every call reads all indices, and narrow updates come with the cache lines of their neighbours, which
// belong to other calls: 1 M rows of 16 floats took 10 ms of one core as one call, 15 as two, 18 as four, 21
// as eight.
constexpr int64_t kMaxCalls = 8, kMaxNarrowCalls = 2;
constexpr int64_t kNarrowBytes = 256;
constexpr int64_t kListed = 512;  // updates that are listed at a time
constexpr int kListLanes = 16;
// Updates for each number of the operand, from where on they are added in f64.
constexpr int64_t kManyUpdates = 4;

bool Contains(absl::Span<const int64_t> list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

class ScatterEmitter {
 public:
  ScatterEmitter(const KernelView& view, const std::string& name, IrModule& ir)
      : view_(view), op_(*view.root), attributes_(op_.attributes<ScatterAttributes>()), name_(name), ir_(ir) {
    inputs_ = op_.operand_count() / 2;
    operand_shape_ = op_.operand(0)->shape();
    update_shape_ = op_.operand(inputs_ + 1)->shape();
    for (int64_t d = 0; d < update_shape_.rank(); ++d) {
      (Contains(attributes_.update_window_dims, d) ? window_dims_ : scatter_dims_).push_back(d);
    }
    for (int64_t d = 0; d < operand_shape_.rank(); ++d) {
      bool fixed =
          Contains(attributes_.inserted_window_dims, d) || Contains(attributes_.input_batching_dims, d);
      if (!fixed) operand_window_dims_.push_back(d);
    }
    const ElementType type = operand_shape_.element_type();
    wide_ = inputs_ == 1 && IsFloat(type) && BitWidth(type) <= 32 &&
            ReductionOpcode(*op_.called(0)) == Opcode::kAdd &&
            update_shape_.ElementCount() / kManyUpdates >= operand_shape_.ElementCount();
  }

  absl::StatusOr<Kernel> Emit() {
    Kernel kernel;
    std::vector<BufferCopy> copies;
    for (int64_t k = 0; k < inputs_; ++k) {
      int64_t from = view_.LeafBuffer(op_.operand(k));
      if (from < 0) return NoEmitter(*view_.op);
      copies.push_back({from, view_.OutputBuffer(k), op_.operand(k)->shape().ByteSize()});
    }
    wide_ = wide_ && operand_shape_.ElementCount() > 0;
    if (wide_) {
      kernel.scratch_bytes = Sums().ByteSize();
      SHOAL_RETURN_IF_ERROR(
          EmitRewrite(kernel, ".widen", operand_shape_, copies[0].from, Sums(), view_.scratch_buffer()));
    } else {
      EmitCopyPhase(copies, name_ + ".copy", ir_, kernel);
    }
    if (update_shape_.ElementCount() == 0 || operand_shape_.ElementCount() == 0) return kernel;
    int64_t row = window_dims_.empty() ? 1 : update_shape_.dim(window_dims_.back());
    width_ = ChooseWidth(view_, row);
    KernelPhase phase;
    phase.function = name_;
    phase.cost_ns = 1.5 * static_cast<double>(update_shape_.ElementCount()) / std::min(width_, 4);
    if (phase.cost_ns > kWorthSplitNs) ChoosePartition();
    phase.units = parts_;
    int64_t window_bytes = ByteWidth(update_shape_.element_type());
    for (int64_t d : window_dims_) window_bytes *= update_shape_.dim(d);
    int64_t calls = window_bytes < kNarrowBytes ? kMaxNarrowCalls : kMaxCalls;
    phase.grain = (parts_ + calls - 1) / calls;
    KernelFunctionEmitter f(ir_, name_, width_);
    f.BindLeaves(view_);
    f.lanes().input_scope = nullptr;
    std::vector<Index> at(update_shape_.rank());
    SHOAL_RETURN_IF_ERROR(EmitIf(f.lanes(), f.lanes().b.CreateICmpSLT(f.begin(), f.end()),
                                 [&] { return parts_ > 1 ? OverListed(f, at) : OverScatterDims(f, at, 0); }));
    f.Finish();
    kernel.phases.push_back(std::move(phase));
    if (wide_) {
      SHOAL_RETURN_IF_ERROR(EmitRewrite(kernel, ".round", Sums(), view_.scratch_buffer(), operand_shape_,
                                        view_.OutputBuffer(0)));
    }
    return kernel;
  }

 private:
  // The running sums of a scatter in f64.
  Shape Sums() const { return operand_shape_.WithElementType(ElementType::kF64); }

  // A phase that writes one array as another float type.
  absl::Status EmitRewrite(Kernel& kernel, const std::string& suffix, const Shape& from, int64_t from_buffer,
                           const Shape& to, int64_t to_buffer) {
    const int64_t elements = from.ElementCount();
    LoopNest nest(LoopSpace{{elements}, {1}}, view_, 0.3);
    KernelPhase phase = nest.Phase(name_ + suffix, elements, 0.3);
    KernelFunctionEmitter f(ir_, phase.function, nest.width());
    SHOAL_RETURN_IF_ERROR(nest.Emit(f, [&](const Digits& at, llvm::Value* mask) -> absl::Status {
      f.elements().set_mask(mask);
      const Element number = f.elements().Load(from, f.Buffer(from_buffer), at, /*is_input=*/false);
      f.elements().set_mask(nullptr);
      StoreAt(f.lanes(), f.elements().index(), to.element_type(),
              InType(f.lanes(), number, to.element_type()), f.Buffer(to_buffer), at, mask);
      return absl::OkStatus();
    }));
    f.Finish();
    kernel.phases.push_back(std::move(phase));
    return absl::OkStatus();
  }

  static Element InType(LaneBuilder& lanes, Element number, ElementType type) {
    llvm::Type* wanted = lanes.LikeLanes(number.re, lanes.RegisterType(type));
    return lanes.RoundTo(type, Element{lanes.b.CreateFPCast(number.re, wanted)});
  }

  // Ranges of the longest dimension that an index alone decides: a window covers one position of it.
  void ChoosePartition() {
    int64_t longest = 0;
    for (size_t k = 0; k < attributes_.scatter_dims_to_operand_dims.size(); ++k) {
      int64_t d = attributes_.scatter_dims_to_operand_dims[k];
      if (!Contains(attributes_.inserted_window_dims, d) || operand_shape_.dim(d) <= longest) continue;
      longest = operand_shape_.dim(d);
      partition_component_ = k;
    }
    part_ = std::max<int64_t>(1, (longest + kMaxParts - 1) / kMaxParts);
    parts_ = std::max<int64_t>(1, (longest + part_ - 1) / part_);
  }

  // All updates that go into parts [begin, end).
  absl::Status OverListed(KernelFunctionEmitter& f, std::vector<Index>& at) {
    LaneBuilder& lanes = f.lanes();
    auto& b = lanes.b;
    IndexBuilder& index = f.elements().index();
    int64_t extent = operand_shape_.dim(attributes_.scatter_dims_to_operand_dims[partition_component_]);
    llvm::Value* low = b.CreateMul(f.begin(), lanes.I64(part_));
    llvm::Value* high =
        lanes.Intrinsic(llvm::Intrinsic::smin, b.CreateMul(f.end(), lanes.I64(part_)), lanes.I64(extent));
    llvm::Value* span = b.CreateSub(high, low);
    llvm::Value* list = b.CreateAlloca(llvm::ArrayType::get(b.getInt32Ty(), kListed + kListLanes));
    int64_t updates = 1;
    for (int64_t d : scatter_dims_) updates *= update_shape_.dim(d);
    auto place = [&](Index rest) {
      for (size_t k = scatter_dims_.size(); k-- > 0;) {
        int64_t d = scatter_dims_[k];
        at[d] = k == 0 ? rest : index.Rem(rest, update_shape_.dim(d));
        rest = index.Div(rest, update_shape_.dim(d));
      }
    };
    int lanes_of_list = ThisCpu().vector_bytes == 64 ? kListLanes : 1;
    auto slot = [&](llvm::Value* i) { return b.CreateGEP(b.getInt32Ty(), list, i); };
    return EmitLoop(
        lanes, lanes.I64(0), lanes.I64(updates), kListed, [&](llvm::Value* first) -> absl::Status {
          ElementEmitter::Scope scope(f.elements());
          llvm::Value* end = lanes.Intrinsic(llvm::Intrinsic::smin, b.CreateAdd(first, lanes.I64(kListed)),
                                             lanes.I64(updates));
          auto note = [&](llvm::Value* update, const Carried& count) -> absl::StatusOr<Carried> {
            ElementEmitter::Scope inner_scope(f.elements());
            Index here = {update, lanes.width() == 1 ? 0 : 1, nullptr, lanes.width()};
            place(here);
            llvm::Value* all = index.Value(here);
            llvm::Value* exists = lanes.Compare(llvm::CmpInst::ICMP_SLT, all, end);
            SHOAL_ASSIGN_OR_RETURN(llvm::Value * value, IndexValue(f, at, partition_component_, exists));
            llvm::Value* from_low = lanes.Binary(llvm::Instruction::Sub, value, low);
            llvm::Value* mine = lanes.AndMask(exists, lanes.Compare(llvm::CmpInst::ICMP_ULT, from_low, span));
            llvm::Value* noted = lanes.Binary(llvm::Instruction::Sub, all, first);
            noted = b.CreateTrunc(noted, lanes.LikeLanes(noted, b.getInt32Ty()));
            return Carried{b.CreateAdd(count[0], AppendWhere(lanes, noted, mine, slot(count[0])))};
          };
          lanes.set_width(lanes_of_list);
          absl::StatusOr<Carried> count =
              EmitLoopCarrying(lanes, first, end, lanes_of_list, {lanes.I64(0)}, note);
          lanes.set_width(width_);
          SHOAL_RETURN_IF_ERROR(count.status());
          return EmitLoop(lanes, lanes.I64(0), (*count)[0], 1, [&](llvm::Value* i) {
            llvm::Value* noted = b.CreateZExt(b.CreateLoad(b.getInt32Ty(), slot(i)), lanes.i64());
            place(index.Uniform(b.CreateAdd(first, noted)));
            return EmitWindow(f, at);
          });
        });
  }

  // Stores the lanes of `value` where `mask` holds, close together; says how many.
  static llvm::Value* AppendWhere(LaneBuilder& lanes, llvm::Value* value, llvm::Value* mask,
                                  llvm::Value* pointer) {
    auto& b = lanes.b;
    if (lanes.width() == 1) {
      b.CreateStore(value, pointer);
      return b.CreateZExt(mask, lanes.i64());
    }
    b.CreateIntrinsic(llvm::Intrinsic::masked_compressstore, {value->getType()}, {value, pointer, mask});
    llvm::Value* bits = b.CreateBitCast(mask, b.getIntNTy(static_cast<unsigned>(lanes.width())));
    return b.CreateZExt(b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bits), lanes.i64());
  }

  absl::Status OverScatterDims(KernelFunctionEmitter& f, std::vector<Index>& at, size_t k) {
    if (k == scatter_dims_.size()) return EmitWindow(f, at);
    LaneBuilder& lanes = f.lanes();
    int64_t extent = update_shape_.dim(scatter_dims_[k]);
    return EmitLoop(lanes, lanes.I64(0), lanes.I64(extent), 1, [&](llvm::Value* i) {
      at[scatter_dims_[k]] = f.elements().index().Uniform(i);
      return OverScatterDims(f, at, k + 1);
    });
  }

  // Component `k` of the index vector at these scatter positions, as an i64.
  absl::StatusOr<llvm::Value*> IndexValue(KernelFunctionEmitter& f, const std::vector<Index>& at, size_t k,
                                          llvm::Value* mask = nullptr) {
    ElementEmitter& e = f.elements();
    const Instruction& indices = *op_.operand(inputs_);
    std::vector<Index> where;
    size_t next = 0;
    for (int64_t i = 0; i < indices.shape().rank(); ++i) {
      bool component = i == attributes_.index_vector_dim;
      where.push_back(component ? e.index().Constant(static_cast<int64_t>(k)) : at[scatter_dims_[next++]]);
    }
    SHOAL_ASSIGN_OR_RETURN(Element raw,
                           e.EmitMasked(indices, e.index().FromDimensions(where, indices.shape()), mask));
    llvm::Type* wide = f.lanes().LikeLanes(raw.re, f.lanes().i64());
    return e.b().CreateIntCast(raw.re, wide, IsSigned(indices.shape().element_type()));
  }

  // The whole window of one index vector, if it lies inside.
  absl::Status EmitWindow(KernelFunctionEmitter& f, std::vector<Index>& at) {
    ElementEmitter& e = f.elements();
    ElementEmitter::Scope scope(e);
    IndexBuilder& index = e.index();
    LaneBuilder& lanes = f.lanes();
    std::vector<Index> start(operand_shape_.rank(), index.Constant(0));
    for (size_t k = 0; k < attributes_.input_batching_dims.size(); ++k) {
      int64_t in_indices = attributes_.scatter_indices_batching_dims[k];
      int64_t in_batch = in_indices - (attributes_.index_vector_dim < in_indices ? 1 : 0);
      start[attributes_.input_batching_dims[k]] = at[scatter_dims_[in_batch]];
    }
    llvm::Value* inside = nullptr;
    for (size_t k = 0; k < attributes_.scatter_dims_to_operand_dims.size(); ++k) {
      int64_t d = attributes_.scatter_dims_to_operand_dims[k];
      SHOAL_ASSIGN_OR_RETURN(llvm::Value * value, IndexValue(f, at, k));
      auto it = std::find(operand_window_dims_.begin(), operand_window_dims_.end(), d);
      int64_t window = it == operand_window_dims_.end()
                           ? 1
                           : update_shape_.dim(window_dims_[it - operand_window_dims_.begin()]);
      llvm::Value* most = lanes.I64(std::max<int64_t>(0, operand_shape_.dim(d) - window + 1));
      inside = lanes.AndMask(inside, e.b().CreateICmpULT(value, most));
      start[d] = index.Add(start[d], index.Uniform(value));
    }
    auto window = [&] { return OverWindowDims(f, at, start, 0); };
    return inside == nullptr ? window() : EmitIf(lanes, inside, window);
  }

  absl::Status OverWindowDims(KernelFunctionEmitter& f, std::vector<Index>& at,
                              const std::vector<Index>& start, size_t k) {
    LaneBuilder& lanes = f.lanes();
    if (k == window_dims_.size()) return EmitUpdate(f, at, start, nullptr);
    int64_t d = window_dims_[k], extent = update_shape_.dim(d);
    if (k + 1 < window_dims_.size()) {
      return EmitLoop(lanes, lanes.I64(0), lanes.I64(extent), 1, [&](llvm::Value* i) {
        at[d] = f.elements().index().Uniform(i);
        return OverWindowDims(f, at, start, k + 1);
      });
    }
    int64_t whole = extent / width_ * width_;
    auto at_vector = [&](llvm::Value* i, llvm::Value* mask) {
      at[d] = {i, width_ == 1 ? 0 : 1, nullptr, width_};
      return EmitUpdate(f, at, start, mask);
    };
    SHOAL_RETURN_IF_ERROR(EmitLoop(lanes, lanes.I64(0), lanes.I64(whole), width_,
                                   [&](llvm::Value* i) { return at_vector(i, nullptr); }));
    if (whole == extent) return absl::OkStatus();
    llvm::Value* numbers = lanes.b.CreateAdd(lanes.Splat(lanes.I64(whole)), lanes.LaneNumbers(lanes.i64()));
    return at_vector(lanes.I64(whole), lanes.b.CreateICmpSLT(numbers, lanes.Splat(lanes.I64(extent))));
  }

  absl::Status EmitUpdate(KernelFunctionEmitter& f, const std::vector<Index>& at,
                          const std::vector<Index>& start, llvm::Value* mask) {
    ElementEmitter& e = f.elements();
    ElementEmitter::Scope scope(e);
    IndexBuilder& index = e.index();
    std::vector<Index> position = start;
    for (size_t k = 0; k < operand_window_dims_.size(); ++k) {
      int64_t d = operand_window_dims_[k];
      position[d] = index.Add(start[d], at[window_dims_[k]]);
    }
    Digits out = index.FromDimensions(position, operand_shape_);
    Digits in = index.FromDimensions(at, update_shape_);
    if (wide_) return AddWide(f, in, out, mask);
    e.set_mask(mask);
    std::vector<Element> arguments, updates;
    for (int64_t k = 0; k < inputs_; ++k) {
      arguments.push_back(
          e.Load(op_.operand(k)->shape(), f.Buffer(view_.OutputBuffer(k)), out, /*is_input=*/false));
      SHOAL_ASSIGN_OR_RETURN(Element update, e.Emit(*op_.operand(inputs_ + 1 + k), in));
      updates.push_back(update);
    }
    e.set_mask(nullptr);
    arguments.insert(arguments.end(), updates.begin(), updates.end());
    SHOAL_ASSIGN_OR_RETURN(std::vector<Element> results, e.EmitRegion(*op_.called(0), arguments));
    for (int64_t k = 0; k < inputs_; ++k) {
      StoreAt(f.lanes(), index, op_.operand(k)->shape().element_type(), results[k],
              f.Buffer(view_.OutputBuffer(k)), out, mask);
    }
    return absl::OkStatus();
  }

  absl::Status AddWide(KernelFunctionEmitter& f, const Digits& in, const Digits& out, llvm::Value* mask) {
    ElementEmitter& e = f.elements();
    llvm::Value* sums = f.Buffer(view_.scratch_buffer());
    e.set_mask(mask);
    const Element sum = e.Load(Sums(), sums, out, /*is_input=*/false);
    SHOAL_ASSIGN_OR_RETURN(Element update, e.Emit(*op_.operand(2), in));
    e.set_mask(nullptr);
    update = InType(f.lanes(), update, ElementType::kF64);
    const Element next = {f.lanes().FAdd(sum.re, update.re)};
    StoreAt(f.lanes(), e.index(), ElementType::kF64, next, sums, out, mask);
    return absl::OkStatus();
  }

  const KernelView& view_;
  const Instruction& op_;
  const ScatterAttributes& attributes_;
  const std::string& name_;
  IrModule& ir_;
  int64_t inputs_ = 1;
  bool wide_ = false;  // sums in f64
  Shape operand_shape_, update_shape_;
  std::vector<int64_t> window_dims_, scatter_dims_;  // of the updates
  std::vector<int64_t> operand_window_dims_;         // of the operand, in the order of window_dims_
  int width_ = 1;
  size_t partition_component_ = 0;  // of the index vector
  int64_t part_ = 1, parts_ = 1;    // positions in a range, and how many ranges
};

}  // namespace

absl::StatusOr<Kernel> EmitScatterKernel(const KernelView& view, const std::string& name, IrModule& ir) {
  return ScatterEmitter(view, name, ir).Emit();
}

}  // namespace shoal

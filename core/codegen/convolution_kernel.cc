// EmitConvolutionKernel: convolution in the tiles of tile.h.
//
// The input is brought into the order [batch, spatial..., feature] with its padding and dilation written out
// (unless it lies so already), the kernel is packed into panels of output features. Then a tile takes
// neighbouring positions of one dimension as its rows: they are a constant step apart, for every tap of the
// window, so the window's dimensions and the input features are just the tile's loops. Grouped convolutions,
// and results whose features are not innermost, are computed element by element (convolution.cc).
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/codegen/loop_nest.h"
#include "core/codegen/multiply_add.h"
#include "core/codegen/tile.h"
#include "core/codegen/window_position.h"

namespace shoal {
namespace {

constexpr double kMultiplyNs = 0.02;

class ConvolutionEmitter {
 public:
  ConvolutionEmitter(const KernelView& view, const std::string& name, IrModule& ir)
      : view_(view),
        op_(*view.root),
        a_(op_.attributes<ConvolutionAttributes>()),
        name_(name),
        ir_(ir),
        input_(op_.operand(0)->shape()),
        kernel_(op_.operand(1)->shape()) {
    result_ = op_.shape().element_type();
    sums_ = IsNarrowFloat(result_) ? ElementType::kF32 : result_;
    batches_ = input_.dim(a_.input_batch);
    features_ = input_.dim(a_.input_feature);
    outputs_ = op_.shape().dim(a_.output_feature);
    spread_ = {batches_};
    for (size_t s = 0; s < a_.window.size(); ++s) {
      const WindowDimension& w = a_.window[s];
      int64_t positions = op_.shape().dim(a_.output_spatial[s]);
      spread_.push_back((positions - 1) * w.stride + (w.size - 1) * w.window_dilation + 1);
      taps_ *= w.size;
    }
    spread_.push_back(features_);
    spread_strides_ = RowMajorStrides(spread_);
    width_ = std::max(2, ChooseWidth(view_, outputs_));
    panel_ = kTileVectors * width_;
    panels_ = (outputs_ + panel_ - 1) / panel_;
    ChooseRows();
    input_bytes_ = InputIsSpread() ? 0 : (Product(spread_) * ByteWidth(sums_) + 63) / 64 * 64;
  }

  absl::StatusOr<Kernel> Emit() {
    Kernel kernel;
    kernel.scratch_bytes = input_bytes_ + panels_ * taps_ * features_ * panel_ * ByteWidth(sums_);
    if (input_bytes_ > 0) SHOAL_RETURN_IF_ERROR(EmitSpread(kernel));
    SHOAL_RETURN_IF_ERROR(EmitPack(kernel));
    SHOAL_RETURN_IF_ERROR(EmitTiles(kernel));
    return kernel;
  }

 private:
  size_t spatial() const { return a_.window.size(); }
  // Output dimension and step in the spread input of row dimension `r`: the spatial ones, then the batch.
  int64_t OutputDim(size_t r) const { return r < spatial() ? a_.output_spatial[r] : a_.output_batch; }
  int64_t InputStep(size_t r) const {
    return r < spatial() ? a_.window[r].stride * spread_strides_[r + 1] : spread_strides_[0];
  }

  // Tile rows run along the last spatial dimension, or along a longer one if that is too short to fill a
  // tile.
  void ChooseRows() {
    row_dim_ = spatial() == 0 ? 0 : spatial() - 1;
    for (size_t r = 0; r <= spatial(); ++r) {
      int64_t now = op_.shape().dim(OutputDim(row_dim_)), candidate = op_.shape().dim(OutputDim(r));
      if (now < TileRows() && candidate > now) row_dim_ = r;
    }
    row_count_ = op_.shape().dim(OutputDim(row_dim_));
    rows_ = std::min(TileRows(), row_count_);
  }

  bool InputIsSpread() const {
    if (!view_.IsLeaf(op_.operand(0)) || input_.element_type() != sums_) return false;
    std::vector<int64_t> order = {a_.input_batch};
    order.insert(order.end(), a_.input_spatial.begin(), a_.input_spatial.end());
    order.push_back(a_.input_feature);
    for (size_t i = 0; i < order.size(); ++i) {
      if (order[i] != static_cast<int64_t>(i) || input_.dim(order[i]) != spread_[i]) return false;
    }
    for (const WindowDimension& w : a_.window) {
      if (w.padding_low != 0 || w.base_dilation != 1) return false;
    }
    return true;
  }

  llvm::Value* Scratch(KernelFunctionEmitter& f, int64_t offset) {
    auto& b = f.lanes().b;
    return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), f.Buffer(view_.scratch_buffer()),
                                        static_cast<uint64_t>(offset));
  }
  llvm::Value* Bytes(KernelFunctionEmitter& f, llvm::Value* pointer, llvm::Value* elements,
                     ElementType type) {
    auto& b = f.lanes().b;
    return b.CreateGEP(b.getInt8Ty(), pointer, b.CreateMul(elements, f.lanes().I64(ByteWidth(type))));
  }

  absl::Status EmitSpread(Kernel& kernel) {
    LoopSpace space{std::vector<int64_t>(spread_.begin(), spread_.end()),
                    std::vector<int64_t>(spread_strides_.begin(), spread_strides_.end())};
    double cost = 0.2;
    LoopNest nest(space, ChooseWidth(view_, features_), cost);
    KernelPhase phase = nest.Phase(name_ + ".spread", Product(spread_), cost);
    KernelFunctionEmitter f(ir_, phase.function, nest.width());
    f.BindLeaves(view_);
    Shape spread_shape = Shape::Array(sums_, spread_);
    auto body = [&](const Digits& at, llvm::Value* mask) -> absl::Status {
      ElementEmitter& e = f.elements();
      ElementEmitter::Scope scope(e);
      std::vector<Index> p = e.index().Dimensions(at, spread_shape), in(input_.rank());
      in[a_.input_batch] = p[0];
      in[a_.input_feature] = p.back();
      llvm::Value* inside = mask;
      for (size_t s = 0; s < spatial(); ++s) {
        WindowDimension plain = a_.window[s];  // a window of one element that is moved one at a time
        plain.stride = 1;
        plain.reversal = false;
        WindowPosition w =
            PositionIn(e, plain, input_.dim(a_.input_spatial[s]), p[s + 1], e.index().Constant(0));
        // Past the end there may be nothing even without padding at the high side.
        llvm::Value* below = f.lanes().Compare(llvm::CmpInst::ICMP_ULT, e.index().Value(w.index),
                                               f.lanes().I64(input_.dim(a_.input_spatial[s])));
        inside = f.lanes().AndMask(inside, f.lanes().AndMask(w.inside, below));
        in[a_.input_spatial[s]] = w.index;
      }
      SHOAL_ASSIGN_OR_RETURN(Element x,
                             e.EmitMasked(*op_.operand(0), e.index().FromDimensions(in, input_), inside));
      x = ToAccumulator(f.lanes(), input_.element_type(), sums_, x);
      if (inside != nullptr) x = f.lanes().Select(inside, x, Element{f.lanes().Const0(x.re)});
      StoreAt(f.lanes(), e.index(), sums_, x, Scratch(f, 0), at, mask);
      return absl::OkStatus();
    };
    SHOAL_RETURN_IF_ERROR(nest.Emit(f, body));
    f.Finish();
    kernel.phases.push_back(std::move(phase));
    return absl::OkStatus();
  }

  // The kernel as [panel, taps, feature, columns of a panel].
  absl::Status EmitPack(Kernel& kernel) {
    const int64_t units = panels_ * taps_;
    KernelPhase phase =
        PhaseOf(name_ + ".pack", units, 0.2 * static_cast<double>(units * features_ * panel_));
    KernelFunctionEmitter f(ir_, phase.function, width_);
    f.BindLeaves(view_);
    LaneBuilder& lanes = f.lanes();
    ElementEmitter& e = f.elements();
    IndexBuilder& index = e.index();
    auto unit_body = [&](llvm::Value* u) {
      Index tap = index.Rem(index.Uniform(u), taps_), panel = index.Div(index.Uniform(u), taps_);
      std::vector<Index> at(kernel_.rank());
      for (size_t s = spatial(); s-- > 0;) {
        const WindowDimension& w = a_.window[s];
        Index t = index.Rem(tap, w.size);
        tap = index.Div(tap, w.size);
        at[a_.kernel_spatial[s]] = w.reversal ? index.Add(index.Mul(t, -1), w.size - 1) : t;
      }
      return EmitLoop(lanes, lanes.I64(0), lanes.I64(features_), 1, [&](llvm::Value* c) -> absl::Status {
        at[a_.kernel_input_feature] = index.Uniform(c);
        for (int64_t v = 0; v < kTileVectors; ++v) {
          ElementEmitter::Scope scope(e);
          Index column = index.Add(index.Mul(panel, panel_), v * width_);
          column.step = 1;
          column.align = width_;
          at[a_.kernel_output_feature] = column;
          llvm::Value* inside = nullptr;
          if (outputs_ % panel_ != 0) {
            inside = lanes.Compare(llvm::CmpInst::ICMP_SLT, index.Value(column), lanes.I64(outputs_));
          }
          SHOAL_ASSIGN_OR_RETURN(Element x,
                                 e.EmitMasked(*op_.operand(1), index.FromDimensions(at, kernel_), inside));
          x = lanes.Splat(ToAccumulator(lanes, kernel_.element_type(), sums_, x));
          if (inside != nullptr) x = lanes.Select(inside, x, Element{lanes.Const0(x.re)});
          Digits to = {{index.Uniform(u), features_ * panel_, panels_ * taps_},
                       {index.Uniform(c), panel_, features_},
                       {{lanes.I64(v * width_), 1, nullptr, width_}, 1, panel_}};
          StoreAt(lanes, index, sums_, x, Scratch(f, input_bytes_), to, nullptr);
        }
        return absl::OkStatus();
      });
    };
    SHOAL_RETURN_IF_ERROR(EmitLoop(lanes, f.begin(), f.end(), 1, unit_body));
    f.Finish();
    kernel.phases.push_back(std::move(phase));
    return absl::OkStatus();
  }

  llvm::Function* TileOf(int64_t rows, int64_t columns) {
    Tile tile;
    tile.type = sums_;
    tile.result = result_;
    tile.width = width_;
    tile.rows = rows;
    tile.columns = columns;
    tile.a_row_step = InputStep(row_dim_);
    tile.c_row_step = RowMajorStrides(op_.shape().dims())[OutputDim(row_dim_)];
    int64_t b_step = taps_ * features_ * panel_;
    for (size_t s = 0; s < spatial(); ++s) {
      const WindowDimension& w = a_.window[s];
      b_step /= w.size;
      if (w.size > 1) tile.loops.push_back({w.size, w.window_dilation * spread_strides_[s + 1], b_step});
    }
    tile.loops.push_back({features_, 1, panel_});
    return EmitTile(ir_, absl::StrCat(name_, ".tile_", rows, "x", columns), tile);
  }

  // A unit is a block of rows at one position of the other output dimensions.
  absl::Status EmitTiles(Kernel& kernel) {
    int64_t rest_rows = row_count_ % rows_, rest_columns = outputs_ % panel_;
    int64_t whole_rows = row_count_ - rest_rows, whole_panels = outputs_ / panel_;
    llvm::Function* tiles[2][2] = {
        {whole_panels > 0 ? TileOf(rows_, panel_) : nullptr,
         rest_columns > 0 ? TileOf(rows_, rest_columns) : nullptr},
        {rest_rows > 0 && whole_panels > 0 ? TileOf(rest_rows, panel_) : nullptr,
         rest_rows > 0 && rest_columns > 0 ? TileOf(rest_rows, rest_columns) : nullptr}};
    std::vector<size_t> others;
    int64_t positions = 1;
    for (size_t r = 0; r <= spatial(); ++r) {
      if (r == row_dim_) continue;
      others.push_back(r);
      positions *= op_.shape().dim(OutputDim(r));
    }
    KernelFunctionEmitter f(ir_, name_, width_);
    LaneBuilder& lanes = f.lanes();
    auto& b = lanes.b;
    IndexBuilder& index = f.elements().index();
    DimVector out_strides = RowMajorStrides(op_.shape().dims());
    auto unit = [&](llvm::Value* u) -> absl::Status {
      Index rest = index.Uniform(u), from = index.Constant(0), to = index.Constant(0);
      for (size_t k = others.size(); k-- > 0;) {
        int64_t extent = op_.shape().dim(OutputDim(others[k]));
        Index digit = index.Rem(rest, extent);
        rest = index.Div(rest, extent);
        from = index.Add(from, index.Mul(digit, InputStep(others[k])));
        to = index.Add(to, index.Mul(digit, out_strides[OutputDim(others[k])]));
      }
      llvm::Value* source = input_bytes_ > 0 ? Scratch(f, 0) : f.Buffer(view_.LeafBuffer(op_.operand(0)));
      auto call = [&](llvm::Value* row, llvm::Value* panel, int row_kind, int column_kind) {
        llvm::Value* a = b.CreateAdd(from.base, b.CreateMul(row, lanes.I64(InputStep(row_dim_))));
        llvm::Value* packed = b.CreateMul(panel, lanes.I64(taps_ * features_ * panel_));
        llvm::Value* c = b.CreateAdd(to.base, b.CreateMul(row, lanes.I64(out_strides[OutputDim(row_dim_)])));
        c = b.CreateAdd(c, b.CreateMul(panel, lanes.I64(panel_)));
        b.CreateCall(tiles[row_kind][column_kind],
                     {Bytes(f, source, a, sums_), Bytes(f, Scratch(f, input_bytes_), packed, sums_),
                      Bytes(f, f.Buffer(view_.OutputBuffer(0)), c, result_), lanes.I64(features_)});
        return absl::OkStatus();
      };
      auto panel = [&](llvm::Value* p, int column_kind) -> absl::Status {
        SHOAL_RETURN_IF_ERROR(EmitLoop(lanes, lanes.I64(0), lanes.I64(whole_rows), rows_,
                                       [&](llvm::Value* row) { return call(row, p, 0, column_kind); }));
        return rest_rows == 0 ? absl::OkStatus() : call(lanes.I64(whole_rows), p, 1, column_kind);
      };
      SHOAL_RETURN_IF_ERROR(EmitLoop(lanes, lanes.I64(0), lanes.I64(whole_panels), 1,
                                     [&](llvm::Value* p) { return panel(p, 0); }));
      return rest_columns == 0 ? absl::OkStatus() : panel(lanes.I64(whole_panels), 1);
    };
    SHOAL_RETURN_IF_ERROR(EmitLoop(lanes, f.begin(), f.end(), 1, unit));
    f.Finish();
    const double elements = static_cast<double>(op_.shape().ElementCount());
    kernel.phases.push_back(
        PhaseOf(name_, positions, kMultiplyNs * elements * static_cast<double>(taps_ * features_)));
    return absl::OkStatus();
  }

  const KernelView& view_;
  const Instruction& op_;
  const ConvolutionAttributes& a_;
  const std::string& name_;
  IrModule& ir_;
  const Shape &input_, &kernel_;
  ElementType result_, sums_;
  int64_t batches_ = 1, features_ = 1, outputs_ = 1, taps_ = 1;
  DimVector spread_, spread_strides_;  // [batch, spatial with padding and dilation, feature]
  int width_ = 1;
  int64_t panel_ = 1, panels_ = 1;
  size_t row_dim_ = 0;
  int64_t row_count_ = 1, rows_ = 1;
  int64_t input_bytes_ = 0;
};

}  // namespace

absl::StatusOr<Kernel> EmitConvolutionKernel(const KernelView& view, const std::string& name, IrModule& ir) {
  const Instruction& op = *view.root;
  const auto& a = op.attributes<ConvolutionAttributes>();
  ElementType type = op.shape().element_type();
  bool plain = (IsFloat(type) || (IsInteger(type) && BitWidth(type) >= 8)) && a.feature_group_count == 1 &&
               a.batch_group_count == 1 && a.output_feature == op.shape().rank() - 1;
  bool worth = op.shape().ElementCount() > 0 && op.operand(1)->shape().ElementCount() > 0 &&
               op.shape().dim(a.output_feature) >= 4 && op.operand(0)->shape().ElementCount() > 0;
  if (!plain || !worth) return EmitLoopKernel(view, name, ir);
  return ConvolutionEmitter(view, name, ir).Emit();
}

}  // namespace shoal

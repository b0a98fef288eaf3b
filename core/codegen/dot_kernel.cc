// EmitDotKernel: dot as a matrix product C[b] = A[b] B[b] of real numbers, in tiles whose sums stay in
// registers.
//
// B is packed into panels of the tile's columns (a phase of its own, unless the product is too flat for that
// to pay), A is read where it lies if its contracted dimensions are innermost, and otherwise brought into
// that order. Operands of any dimension order, conversions of narrow types, and elementwise work fused into
// an operand all happen while packing. Blocks of rows and panels are the units; the contraction is cut so
// that a panel stays in the first-level cache. Products that are too small, complex ones and those with few
// columns take other ways (see EmitDotKernel).
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/codegen/loop_nest.h"
#include "core/codegen/module_builder.h"
#include "core/codegen/multiply_add.h"
#include "core/codegen/tile.h"

namespace shoal {
namespace {

constexpr int64_t kSmallProduct = 4096;     // multiplications below which plain loops do as well
constexpr int64_t kContractionBlock = 256;  // of a packed panel: 32 kB of floats
constexpr int64_t kRowTiles = 12,
                  kPanels = 8;  // tiles of rows and panels of columns in a block: fits the second-level cache
constexpr double kMultiplyNs = 0.015;

// The sizes of a dot and how its operands lie. The virtual shapes order each operand's dimensions as the
// product wants them: lhs as batch, free, contracted; rhs as batch, contracted, free.
struct DotView {
  explicit DotView(const Instruction& op) : lhs(*op.operand(0)), rhs(*op.operand(1)) {
    const auto& d = op.attributes<DotAttributes>();
    auto classify = [](const Shape& shape, const IntVector& batch_dims, const IntVector& contracting,
                       IntVector& free) {
      for (int64_t i = 0; i < shape.rank(); ++i) {
        bool used = std::find(batch_dims.begin(), batch_dims.end(), i) != batch_dims.end() ||
                    std::find(contracting.begin(), contracting.end(), i) != contracting.end();
        if (!used) free.push_back(i);
      }
    };
    classify(lhs.shape(), d.lhs_batch_dims, d.lhs_contracting_dims, lhs_free);
    classify(rhs.shape(), d.rhs_batch_dims, d.rhs_contracting_dims, rhs_free);
    auto total = [](const Shape& shape, const IntVector& dims) {
      int64_t product = 1;
      for (int64_t i : dims) product *= shape.dim(i);
      return product;
    };
    batch = total(lhs.shape(), d.lhs_batch_dims);
    m = total(lhs.shape(), lhs_free);
    n = total(rhs.shape(), rhs_free);
    k = total(lhs.shape(), d.lhs_contracting_dims);
    lhs_order = Concat(d.lhs_batch_dims, lhs_free, d.lhs_contracting_dims);
    rhs_order = Concat(d.rhs_batch_dims, d.rhs_contracting_dims, rhs_free);
    result = op.shape().element_type();
    sums = IsNarrowFloat(result) ? ElementType::kF32 : result;
    lhs_contracting = d.lhs_contracting_dims;
    rhs_contracting = d.rhs_contracting_dims;
  }

  static IntVector Concat(const IntVector& a, const IntVector& b, const IntVector& c) {
    IntVector all = a;
    all.insert(all.end(), b.begin(), b.end());
    all.insert(all.end(), c.begin(), c.end());
    return all;
  }

  // If the dimensions `dims` of `shape` lie one after the other, the stride of the last one; else -1.
  static int64_t RunStride(const Shape& shape, const IntVector& dims) {
    DimVector strides = RowMajorStrides(shape.dims());
    int64_t last = -1, expected = -1;
    for (size_t i = dims.size(); i-- > 0;) {
      if (shape.dim(dims[i]) == 1) continue;
      if (last < 0) {
        last = strides[dims[i]];
      } else if (strides[dims[i]] != expected) {
        return -1;
      }
      expected = strides[dims[i]] * shape.dim(dims[i]);
    }
    return last < 0 ? 1 : last;
  }

  // The element of `operand` at virtual digits.
  static Digits Position(IndexBuilder& index, const Digits& at, const Instruction& operand,
                         const IntVector& order) {
    DimVector dims;
    std::vector<int64_t> virtual_dim(operand.shape().rank());
    for (size_t i = 0; i < order.size(); ++i) {
      dims.push_back(operand.shape().dim(order[i]));
      virtual_dim[order[i]] = static_cast<int64_t>(i);
    }
    return index.Move(at, operand.shape().WithDims(dims), operand.shape(), virtual_dim);
  }

  const Instruction &lhs, &rhs;
  IntVector lhs_free, rhs_free, lhs_order, rhs_order, lhs_contracting, rhs_contracting;
  int64_t batch = 1, m = 1, n = 1, k = 1;
  ElementType result, sums;
};

class ProductEmitter {
 public:
  ProductEmitter(const KernelView& view, const std::string& name, IrModule& ir)
      : view_(view), name_(name), ir_(ir), d_(*view.root) {
    width_ = ThisWidth();
    panel_ = kTileVectors * width_;
    panels_ = (d_.n + panel_ - 1) / panel_;
    rows_ = std::min(TileRows(), d_.m);
    bool same = d_.result == d_.sums;
    a_row_step_ = DotView::RunStride(d_.lhs.shape(), d_.lhs_free);
    a_step_ = DotView::RunStride(d_.lhs.shape(), d_.lhs_contracting);
    // Rows beside each other are read in place as well where they are few, as in x.T @ x of a long x: of
    // f32[4000000,16], in parts (core/passes/simplify_dot.cc), 44 ms instead of 175, jaxlib's 28.
    const bool few_beside = a_row_step_ == 1 && a_step_ == d_.m && d_.m <= 2 * TileRows();
    a_direct_ = view.IsLeaf(&d_.lhs) && d_.lhs.shape().element_type() == d_.sums &&
                ((a_row_step_ > 0 && a_step_ == 1) || few_beside);
    if (!a_direct_) {
      a_row_step_ = d_.k;
      a_step_ = 1;
    }
    b_row_step_ = DotView::RunStride(d_.rhs.shape(), d_.rhs_contracting);
    b_direct_ = view.IsLeaf(&d_.rhs) && d_.rhs.shape().element_type() == d_.sums && b_row_step_ > 0 &&
                DotView::RunStride(d_.rhs.shape(), d_.rhs_free) == 1 && d_.m <= 2 * TileRows();
    if (!b_direct_) b_row_step_ = panel_;
    block_ = same && d_.k > 3 * kContractionBlock / 2 ? kContractionBlock : d_.k;
    accumulate_ = block_ < d_.k;
    ChooseBlocks();
    a_bytes_ = a_direct_ ? 0 : RoundUp(d_.batch * d_.m * d_.k * ByteWidth(d_.sums));
    b_bytes_ = b_direct_ ? 0 : RoundUp(d_.batch * panels_ * d_.k * panel_ * ByteWidth(d_.sums));
  }

  absl::StatusOr<Kernel> Emit() {
    Kernel kernel;
    kernel.scratch_bytes = a_bytes_ + b_bytes_;
    if (!a_direct_) SHOAL_RETURN_IF_ERROR(EmitPackA(kernel));
    if (!b_direct_) SHOAL_RETURN_IF_ERROR(EmitPackB(kernel));
    SHOAL_RETURN_IF_ERROR(EmitProduct(kernel));
    return kernel;
  }

 private:
  static int64_t RoundUp(int64_t bytes) { return (bytes + 63) / 64 * 64; }
  int ThisWidth() const {
    int full = ChooseWidth(view_, d_.n);
    return std::max(full, 2);
  }

  void ChooseBlocks() {
    row_tiles_ = kRowTiles;
    block_panels_ = kPanels;
    double work = kMultiplyNs * static_cast<double>(d_.batch) * static_cast<double>(d_.m * d_.n) *
                  static_cast<double>(d_.k);
    auto units = [&] {
      return d_.batch * ((d_.m + row_tiles_ * rows_ - 1) / (row_tiles_ * rows_)) *
             ((panels_ + block_panels_ - 1) / block_panels_);
    };
    // Enough units for a few cores, none below 20 microseconds.
    while (units() < 32 && work / static_cast<double>(units()) > 40000 &&
           (row_tiles_ > 1 || block_panels_ > 1)) {
      if (row_tiles_ >= 2 * block_panels_ || block_panels_ == 1) {
        row_tiles_ = (row_tiles_ + 1) / 2;
      } else {
        block_panels_ = (block_panels_ + 1) / 2;
      }
    }
  }

  llvm::Value* Scratch(KernelFunctionEmitter& f, int64_t offset) {
    auto& b = f.lanes().b;
    return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), f.Buffer(view_.scratch_buffer()),
                                        static_cast<uint64_t>(offset));
  }

  // A as [batch, m, k].
  absl::Status EmitPackA(Kernel& kernel) {
    LoopSpace space{{d_.batch, d_.m, d_.k}, {d_.m * d_.k, d_.k, 1}};
    double cost = 0.2;
    LoopNest nest(space, ChooseWidth(view_, d_.k), cost);
    KernelPhase phase = nest.Phase(name_ + ".pack_a", d_.batch * d_.m * d_.k, cost);
    KernelFunctionEmitter f(ir_, phase.function, nest.width());
    f.BindLeaves(view_);
    auto body = [&](const Digits& at, llvm::Value* mask) -> absl::Status {
      ElementEmitter::Scope scope(f.elements());
      f.elements().set_mask(mask);
      auto x = f.elements().Emit(d_.lhs, DotView::Position(f.elements().index(), at, d_.lhs, d_.lhs_order));
      f.elements().set_mask(nullptr);
      SHOAL_RETURN_IF_ERROR(x.status());
      Element wide = ToAccumulator(f.lanes(), d_.lhs.shape().element_type(), d_.sums, *x);
      StoreAt(f.lanes(), f.elements().index(), d_.sums, wide, Scratch(f, 0), at, mask);
      return absl::OkStatus();
    };
    SHOAL_RETURN_IF_ERROR(nest.Emit(f, body));
    f.Finish();
    kernel.phases.push_back(std::move(phase));
    return absl::OkStatus();
  }

  // B as [batch, panel, k, columns of a panel]; columns past the last are zero.
  absl::Status EmitPackB(Kernel& kernel) {
    const int64_t units = d_.batch * panels_;
    KernelPhase phase = PhaseOf(name_ + ".pack_b", units, 0.2 * static_cast<double>(units * d_.k * panel_));
    KernelFunctionEmitter f(ir_, phase.function, width_);
    f.BindLeaves(view_);
    LaneBuilder& lanes = f.lanes();
    IndexBuilder& index = f.elements().index();
    auto unit_body = [&](llvm::Value* u) {
      Index batch = index.Div(index.Uniform(u), panels_), panel = index.Rem(index.Uniform(u), panels_);
      return EmitLoop(lanes, lanes.I64(0), lanes.I64(d_.k), 1, [&](llvm::Value* k) -> absl::Status {
        for (int64_t v = 0; v < kTileVectors; ++v) {
          Index column = index.Add(index.Mul(panel, panel_), v * width_);
          column.step = 1;
          column.align = width_;
          Digits at = {{batch, d_.k * d_.n, d_.batch}, {index.Uniform(k), d_.n, d_.k}, {column, 1, d_.n}};
          SHOAL_ASSIGN_OR_RETURN(Element x, BElement(f, at, column));
          Digits to = {{index.Uniform(u), d_.k * panel_, d_.batch * panels_},
                       {index.Uniform(k), panel_, d_.k},
                       {{lanes.I64(v * width_), 1, nullptr, width_}, 1, panel_}};
          StoreAt(lanes, index, d_.sums, x, Scratch(f, a_bytes_), to, nullptr);
        }
        return absl::OkStatus();
      });
    };
    SHOAL_RETURN_IF_ERROR(EmitLoop(lanes, f.begin(), f.end(), 1, unit_body));
    f.Finish();
    kernel.phases.push_back(std::move(phase));
    return absl::OkStatus();
  }

  absl::StatusOr<Element> BElement(KernelFunctionEmitter& f, const Digits& at, Index column) {
    ElementEmitter& e = f.elements();
    ElementEmitter::Scope scope(e);
    LaneBuilder& lanes = f.lanes();
    llvm::Value* inside = nullptr;
    if (d_.n % panel_ != 0) {
      inside = lanes.Compare(llvm::CmpInst::ICMP_SLT, e.index().Value(column), lanes.I64(d_.n));
    }
    SHOAL_ASSIGN_OR_RETURN(
        Element x, e.EmitMasked(d_.rhs, DotView::Position(e.index(), at, d_.rhs, d_.rhs_order), inside));
    x = lanes.Splat(ToAccumulator(lanes, d_.rhs.shape().element_type(), d_.sums, x));
    return inside == nullptr ? x : lanes.Select(inside, x, Element{lanes.Const0(x.re)});
  }

  llvm::Function* TileOf(int64_t rows, int64_t columns) {
    Tile tile;
    tile.type = d_.sums;
    tile.result = d_.result;
    tile.width = width_;
    tile.rows = rows;
    tile.columns = columns;
    tile.a_row_step = a_row_step_;
    tile.c_row_step = d_.n;
    tile.loops = {{block_, a_step_, b_row_step_}};
    tile.accumulate = accumulate_;
    tile.b_is_padded = !b_direct_;
    return EmitTile(ir_, absl::StrCat(name_, ".tile_", rows, "x", columns), tile);
  }

  absl::Status EmitProduct(Kernel& kernel) {
    int64_t rest_rows = d_.m % rows_, rest_columns = d_.n % panel_;
    int64_t whole_rows = d_.m - rest_rows, whole_panels = d_.n / panel_;
    tiles_[0][0] = whole_panels > 0 ? TileOf(rows_, panel_) : nullptr;
    tiles_[0][1] = rest_columns > 0 ? TileOf(rows_, rest_columns) : nullptr;
    tiles_[1][0] = rest_rows > 0 && whole_panels > 0 ? TileOf(rest_rows, panel_) : nullptr;
    tiles_[1][1] = rest_rows > 0 && rest_columns > 0 ? TileOf(rest_rows, rest_columns) : nullptr;
    int64_t row_block = row_tiles_ * rows_;
    int64_t row_blocks = (d_.m + row_block - 1) / row_block;
    int64_t column_blocks = (panels_ + block_panels_ - 1) / block_panels_;

    KernelFunctionEmitter f(ir_, name_, width_);
    LaneBuilder& lanes = f.lanes();
    auto& b = lanes.b;
    IndexBuilder& index = f.elements().index();
    auto smaller = [&](llvm::Value* x, int64_t y) {
      return lanes.Intrinsic(llvm::Intrinsic::smin, x, lanes.I64(y));
    };
    auto unit = [&](llvm::Value* u) -> absl::Status {
      Index rest = index.Uniform(u);
      llvm::Value* column_block = index.Rem(rest, column_blocks).base;
      rest = index.Div(rest, column_blocks);
      llvm::Value* row_begin = b.CreateMul(index.Rem(rest, row_blocks).base, lanes.I64(row_block));
      Block block;
      block.batch = index.Div(rest, row_blocks).base;
      llvm::Value* row_end = b.CreateAdd(row_begin, lanes.I64(row_block));
      llvm::Value* panel_begin = b.CreateMul(column_block, lanes.I64(block_panels_));
      llvm::Value* panel_end = b.CreateAdd(panel_begin, lanes.I64(block_panels_));
      if (accumulate_)
        SHOAL_RETURN_IF_ERROR(ZeroResult(f, block.batch, row_begin, row_end, panel_begin, panel_end));
      return EmitLoop(lanes, lanes.I64(0), lanes.I64(d_.k), block_, [&](llvm::Value* k) -> absl::Status {
        block.k = k;
        block.depth =
            lanes.Intrinsic(llvm::Intrinsic::smin, b.CreateSub(lanes.I64(d_.k), k), lanes.I64(block_));
        auto panel = [&](int column_kind) {
          return [&, column_kind](llvm::Value* p) -> absl::Status {
            block.panel = p;
            SHOAL_RETURN_IF_ERROR(
                EmitLoop(lanes, row_begin, smaller(row_end, whole_rows), rows_,
                         [&](llvm::Value* row) { return CallTile(f, block, row, 0, column_kind); }));
            if (rest_rows == 0) return absl::OkStatus();
            return EmitIf(lanes, b.CreateICmpSGT(row_end, lanes.I64(whole_rows)),
                          [&] { return CallTile(f, block, lanes.I64(whole_rows), 1, column_kind); });
          };
        };
        if (whole_panels > 0) {
          SHOAL_RETURN_IF_ERROR(EmitLoop(lanes, panel_begin, smaller(panel_end, whole_panels), 1, panel(0)));
        }
        if (rest_columns == 0) return absl::OkStatus();
        return EmitIf(lanes, b.CreateICmpSGT(panel_end, lanes.I64(whole_panels)),
                      [&] { return panel(1)(lanes.I64(whole_panels)); });
      });
    };
    SHOAL_RETURN_IF_ERROR(EmitLoop(lanes, f.begin(), f.end(), 1, unit));
    f.Finish();
    const double multiplications = static_cast<double>(d_.batch * d_.m * d_.n) * static_cast<double>(d_.k);
    kernel.phases.push_back(
        PhaseOf(name_, d_.batch * row_blocks * column_blocks, 1 + kMultiplyNs * multiplications));
    return absl::OkStatus();
  }

  struct Block {
    llvm::Value *batch = nullptr, *panel = nullptr, *k = nullptr, *depth = nullptr;
  };

  llvm::Value* Bytes(KernelFunctionEmitter& f, llvm::Value* pointer, llvm::Value* elements,
                     ElementType type) {
    auto& b = f.lanes().b;
    return b.CreateGEP(b.getInt8Ty(), pointer, b.CreateMul(elements, f.lanes().I64(ByteWidth(type))));
  }

  // Where matrix `batch` of an operand that is read in place begins.
  llvm::Value* BatchOffset(KernelFunctionEmitter& f, llvm::Value* batch, const Instruction& operand,
                           const IntVector& order, int64_t matrix) {
    IndexBuilder& index = f.elements().index();
    Digits at = {{index.Uniform(batch), matrix, d_.batch}};
    return index.Linear(DotView::Position(index, at, operand, order)).base;
  }

  absl::Status CallTile(KernelFunctionEmitter& f, const Block& block, llvm::Value* row, int row_kind,
                        int column_kind) {
    LaneBuilder& lanes = f.lanes();
    auto& b = lanes.b;
    auto times = [&](llvm::Value* x, int64_t y) { return b.CreateMul(x, lanes.I64(y)); };
    llvm::Value *a, *bb;
    llvm::Value* a_offset = b.CreateAdd(times(row, a_row_step_), times(block.k, a_step_));
    if (a_direct_) {
      a_offset = b.CreateAdd(a_offset, BatchOffset(f, block.batch, d_.lhs, d_.lhs_order, d_.m * d_.k));
      a = Bytes(f, f.Buffer(view_.LeafBuffer(&d_.lhs)), a_offset, d_.sums);
    } else {
      a = Bytes(f, Scratch(f, 0), b.CreateAdd(a_offset, times(block.batch, d_.m * d_.k)), d_.sums);
    }
    if (b_direct_) {
      llvm::Value* offset = BatchOffset(f, block.batch, d_.rhs, d_.rhs_order, d_.k * d_.n);
      offset = b.CreateAdd(offset, b.CreateAdd(times(block.k, b_row_step_), times(block.panel, panel_)));
      bb = Bytes(f, f.Buffer(view_.LeafBuffer(&d_.rhs)), offset, d_.sums);
    } else {
      llvm::Value* panel = b.CreateAdd(times(block.batch, panels_), block.panel);
      llvm::Value* offset = times(b.CreateAdd(times(panel, d_.k), block.k), panel_);
      bb = Bytes(f, Scratch(f, a_bytes_), offset, d_.sums);
    }
    llvm::Value* c_offset = times(b.CreateAdd(times(block.batch, d_.m), row), d_.n);
    c_offset = b.CreateAdd(c_offset, times(block.panel, panel_));
    llvm::Value* c = Bytes(f, f.Buffer(view_.OutputBuffer(0)), c_offset, d_.result);
    b.CreateCall(tiles_[row_kind][column_kind], {a, bb, c, block.depth});
    return absl::OkStatus();
  }

  // The block of C, before the first part of the contraction is added.
  absl::Status ZeroResult(KernelFunctionEmitter& f, llvm::Value* batch, llvm::Value* row_begin,
                          llvm::Value* row_end, llvm::Value* panel_begin, llvm::Value* panel_end) {
    LaneBuilder& lanes = f.lanes();
    auto& b = lanes.b;
    auto smaller = [&](llvm::Value* x, int64_t y) {
      return lanes.Intrinsic(llvm::Intrinsic::smin, x, lanes.I64(y));
    };
    llvm::Value* first = b.CreateMul(panel_begin, lanes.I64(panel_));
    llvm::Value* last = smaller(b.CreateMul(panel_end, lanes.I64(panel_)), d_.n);
    llvm::Value* bytes = b.CreateMul(b.CreateSub(last, first), lanes.I64(ByteWidth(d_.result)));
    return EmitLoop(lanes, row_begin, smaller(row_end, d_.m), 1, [&](llvm::Value* row) {
      llvm::Value* at = b.CreateAdd(b.CreateMul(batch, lanes.I64(d_.m)), row);
      at = b.CreateAdd(b.CreateMul(at, lanes.I64(d_.n)), first);
      b.CreateMemSet(Bytes(f, f.Buffer(view_.OutputBuffer(0)), at, d_.result), b.getInt8(0), bytes,
                     llvm::MaybeAlign(1));
      return absl::OkStatus();
    });
  }

  const KernelView& view_;
  const std::string& name_;
  IrModule& ir_;
  DotView d_;
  int width_ = 1;
  int64_t panel_ = 1, panels_ = 1, rows_ = 1;
  int64_t row_tiles_ = 1, block_panels_ = 1, block_ = 1;
  int64_t a_row_step_ = 0, a_step_ = 1, b_row_step_ = 0, a_bytes_ = 0, b_bytes_ = 0;
  bool a_direct_ = false, b_direct_ = false, accumulate_ = false;
  llvm::Function* tiles_[2][2] = {};  // [whole rows or the rest][whole panel or the rest]
};

// Few columns, both contractions innermost: every result is the reduction of a row.
absl::StatusOr<Kernel> EmitAsReduction(const Instruction& op, const std::string& name,
                                       ModuleBuilder& builder) {
  DotView d(op);
  Module apart("apart");
  Computation* add = apart.AddComputation("add");
  Shape scalar = Shape::Scalar(d.sums);
  Instruction *x = add->AddParameter(0, scalar), *y = add->AddParameter(1, scalar);
  add->set_root(add->Add(Opcode::kAdd, scalar, {x, y}));
  Computation* body = apart.AddComputation("body");
  Instruction* lhs = body->AddParameter(0, d.lhs.shape());
  Instruction* rhs = body->AddParameter(1, d.rhs.shape());
  // Dimensions: batch, free of lhs, free of rhs, contracted.
  const auto& dot = op.attributes<DotAttributes>();
  std::vector<int64_t> dims(op.shape().dims().begin(), op.shape().dims().end()), reduced;
  for (int64_t c : d.lhs_contracting) {
    reduced.push_back(static_cast<int64_t>(dims.size()));
    dims.push_back(d.lhs.shape().dim(c));
  }
  Shape all = Shape::Array(d.sums, dims);
  auto spread = [&](Instruction* operand, const IntVector& batch, const IntVector& free,
                    const IntVector& contracting, int64_t first_free) {
    IntVector to(operand->shape().rank());
    for (size_t i = 0; i < batch.size(); ++i) to[batch[i]] = static_cast<int64_t>(i);
    for (size_t i = 0; i < free.size(); ++i) to[free[i]] = first_free + static_cast<int64_t>(i);
    for (size_t i = 0; i < contracting.size(); ++i)
      to[contracting[i]] = op.shape().rank() + static_cast<int64_t>(i);
    Shape converted = operand->shape().WithElementType(d.sums);
    if (operand->shape() != converted) operand = body->Add(Opcode::kConvert, converted, {operand});
    return body->Add(Opcode::kBroadcast, all, {operand}, DimensionsAttributes{to});
  };
  int64_t batches = static_cast<int64_t>(dot.lhs_batch_dims.size());
  Instruction* l = spread(lhs, dot.lhs_batch_dims, d.lhs_free, d.lhs_contracting, batches);
  Instruction* r = spread(rhs, dot.rhs_batch_dims, d.rhs_free, d.rhs_contracting,
                          batches + static_cast<int64_t>(d.lhs_free.size()));
  Instruction* product = body->Add(Opcode::kMultiply, all, {l, r});
  Instruction* zero = body->AddConstant(Literal(scalar));
  Computation* called[] = {add};
  Instruction* sum = body->Add(Opcode::kReduce, op.shape().WithElementType(d.sums), {product, zero},
                               DimensionsAttributes{reduced}, called);
  if (d.sums != d.result) sum = body->Add(Opcode::kConvert, op.shape(), {sum});
  body->set_root(sum);
  Computation* outer = apart.AddComputation("outer");
  Instruction* parameters[] = {outer->AddParameter(0, d.lhs.shape()), outer->AddParameter(1, d.rhs.shape())};
  Computation* fused[] = {body};
  Instruction* fusion = outer->Add(Opcode::kFusion, op.shape(), parameters, FusionAttributes{}, fused);
  return EmitKernel(*fusion, name, builder);
}

}  // namespace

absl::StatusOr<Kernel> EmitDotKernel(const KernelView& view, const std::string& name,
                                     ModuleBuilder& builder) {
  const Instruction& op = *view.root;
  DotView d(op);
  bool real = (IsFloat(d.result) || (IsInteger(d.result) && BitWidth(d.result) >= 8)) &&
              !IsComplex(d.lhs.shape().element_type()) && !IsComplex(d.rhs.shape().element_type());
  int64_t work = d.batch * d.m * d.n * d.k;
  if (!real || work < kSmallProduct || d.k < 2) return EmitLoopKernel(view, name, builder.ir());
  bool inner = DotView::RunStride(d.lhs.shape(), d.lhs_contracting) == 1 &&
               DotView::RunStride(d.rhs.shape(), d.rhs_contracting) == 1;
  bool leaves = view.op == view.root && view.IsLeaf(&d.lhs) && view.IsLeaf(&d.rhs);
  bool flat = std::min(d.m, d.n) < 4;
  if (flat && inner && leaves && d.k >= 16) return EmitAsReduction(op, name, builder);
  if (d.n < 4) return EmitLoopKernel(view, name, builder.ir());
  return ProductEmitter(view, name, builder.ir()).Emit();
}

}  // namespace shoal

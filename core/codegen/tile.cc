#include "core/codegen/tile.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/status.h"
#include "core/codegen/element.h"
#include "core/codegen/multiply_add.h"
#include "core/jit/cpu.h"

namespace shoal {

int64_t TileRows() {
  // 32 registers: 14 x 2 sums, 2 of b, 1 of a. 16 registers: 6 x 2 sums, 2 of b, 1 of a.
  return ThisCpu().vector_bytes == 64 ? 14 : 6;
}

namespace {

constexpr int64_t kRun = 256;  // products that are summed one after the other, at least

class TileEmitter {
 public:
  TileEmitter(IrModule& ir, const std::string& name, const Tile& tile) : lanes_(ir, tile.width), tile_(tile) {
    auto& b = lanes_.b;
    llvm::Type* p = b.getPtrTy();
    auto* type = llvm::FunctionType::get(b.getVoidTy(), {p, p, p, lanes_.i64()}, false);
    function_ = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, *ir.module);
    function_->addFnAttr(llvm::Attribute::NoInline);
    b.SetInsertPoint(llvm::BasicBlock::Create(lanes_.context(), "entry", function_));
    vectors_ = (tile.columns + tile.width - 1) / tile.width;
    ChooseRuns();
  }

  llvm::Function* Emit() {
    // The loops cannot fail.
    Carried sums = *Loops(0, function_->getArg(0), function_->getArg(1), Zeros());
    for (int64_t r = 0; r < tile_.rows; ++r) {
      for (int64_t v = 0; v < vectors_; ++v) {
        llvm::Value* sum = sums[static_cast<size_t>(r * vectors_ + v)];
        if (tile_.accumulate) sum = Add(lanes_.LoadVectorOrScalar(tile_.result, C(r, v), Mask(v)).re, sum);
        lanes_.Store(tile_.result, {lanes_.RoundTo(tile_.result, sum)}, C(r, v), Mask(v));
      }
    }
    lanes_.b.CreateRetVoid();
    return function_;
  }

 private:
  llvm::Value* At(llvm::Value* pointer, llvm::Value* elements, ElementType type) {
    auto& b = lanes_.b;
    return b.CreateGEP(b.getInt8Ty(), pointer, b.CreateMul(elements, lanes_.I64(ByteWidth(type))));
  }
  llvm::Value* C(int64_t r, int64_t v) {
    return At(function_->getArg(2), lanes_.I64(r * tile_.c_row_step + v * tile_.width), tile_.result);
  }
  // Which lanes of vector v are columns; null: all.
  llvm::Value* Mask(int64_t v) {
    int64_t left = tile_.columns - v * tile_.width;
    if (left >= tile_.width) return nullptr;
    llvm::SmallVector<llvm::Constant*, 64> bits;
    for (int64_t i = 0; i < tile_.width; ++i) bits.push_back(lanes_.b.getInt1(i < left));
    return llvm::ConstantVector::get(bits);
  }

  Carried Zeros() {
    llvm::Value* zero = lanes_.Splat(llvm::Constant::getNullValue(lanes_.RegisterType(tile_.type)));
    return Carried(static_cast<size_t>(tile_.rows * vectors_), zero);
  }
  llvm::Value* Add(llvm::Value* x, llvm::Value* y) {
    return IsFloat(tile_.type) ? lanes_.FAdd(x, y) : lanes_.WrapNarrow(tile_.type, lanes_.b.CreateAdd(x, y));
  }

  // Products in loops k and deeper.
  int64_t Products(size_t k) const {
    int64_t products = 1;
    for (; k < tile_.loops.size(); ++k) products *= tile_.loops[k].extent;
    return products;
  }
  // Runs of products of floats are summed by themselves: `pace_` iterations of loop `apart_` with all that is
  // within.
  void ChooseRuns() {
    if (!IsFloat(tile_.type)) return;
    size_t k = tile_.loops.size() - 1;
    while (k > 0 && Products(k) < kRun) --k;
    const double run = std::max(static_cast<double>(kRun), std::sqrt(static_cast<double>(Products(k))));
    pace_ = std::max<int64_t>(1, static_cast<int64_t>(run) / Products(k + 1));
    if (2 * pace_ > tile_.loops[k].extent) pace_ = tile_.loops[k].extent;
    if (k > 0 || pace_ < tile_.loops[k].extent) apart_ = k;
  }

  absl::StatusOr<Carried> Loops(size_t k, llvm::Value* a, llvm::Value* b, Carried sums) {
    const bool innermost = k + 1 == tile_.loops.size();
    llvm::Value* extent = innermost ? function_->getArg(3) : lanes_.I64(tile_.loops[k].extent);
    if (k != apart_) return Loop(k, lanes_.I64(0), extent, a, b, std::move(sums));
    if (pace_ == tile_.loops[k].extent) return Sum(sums, *Loop(k, lanes_.I64(0), extent, a, b, Zeros()));
    return EmitSumOfRuns(lanes_, extent, pace_, std::move(sums), [&](llvm::Value* begin, llvm::Value* end) {
      return Loop(k, begin, end, a, b, Zeros());
    });
  }

  absl::StatusOr<Carried> Loop(size_t k, llvm::Value* begin, llvm::Value* end, llvm::Value* a, llvm::Value* b,
                               Carried sums) {
    const TileLoop& loop = tile_.loops[k];
    return EmitLoopCarrying(
        lanes_, begin, end, 1, std::move(sums),
        [&](llvm::Value* i, const Carried& current) -> absl::StatusOr<Carried> {
          llvm::Value* a_at = At(a, lanes_.b.CreateMul(i, lanes_.I64(loop.a_step)), tile_.type);
          llvm::Value* b_at = At(b, lanes_.b.CreateMul(i, lanes_.I64(loop.b_step)), tile_.type);
          if (k + 1 < tile_.loops.size()) return Loops(k + 1, a_at, b_at, current);
          return Step(a_at, b_at, current);
        });
  }

  Carried Sum(const Carried& x, const Carried& y) {
    Carried sums;
    for (size_t i = 0; i < x.size(); ++i) sums.push_back(Add(x[i], y[i]));
    return sums;
  }

  Carried Step(llvm::Value* a, llvm::Value* b, const Carried& current) {
    std::vector<Element> columns;
    for (int64_t v = 0; v < vectors_; ++v) {
      llvm::Value* mask = tile_.b_is_padded ? nullptr : Mask(v);
      columns.push_back(
          lanes_.LoadVectorOrScalar(tile_.type, At(b, lanes_.I64(v * tile_.width), tile_.type), mask));
    }
    Carried next;
    for (int64_t r = 0; r < tile_.rows; ++r) {
      llvm::Value* at = At(a, lanes_.I64(r * tile_.a_row_step), tile_.type);
      Element x = lanes_.LoadUniform(tile_.type, at, nullptr);
      for (int64_t v = 0; v < vectors_; ++v) {
        Element sum = {current[static_cast<size_t>(r * vectors_ + v)]};
        next.push_back(MultiplyAdd(lanes_, tile_.type, x, columns[v], sum).re);
      }
    }
    return next;
  }

  LaneBuilder lanes_;
  const Tile& tile_;
  llvm::Function* function_ = nullptr;
  int64_t vectors_ = 1;
  size_t apart_ = std::numeric_limits<size_t>::max();  // no loop
  int64_t pace_ = 0;
};

}  // namespace

llvm::Function* EmitTile(IrModule& ir, const std::string& name, const Tile& tile) {
  return TileEmitter(ir, name, tile).Emit();
}

}  // namespace shoal

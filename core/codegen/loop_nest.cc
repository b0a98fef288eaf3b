#include "core/codegen/loop_nest.h"

#include <algorithm>

#include "core/base/status.h"

namespace shoal {
namespace {

// A unit should take about this long, so that its own few divisions do not count and any split balances.
constexpr double kUnitNs = 1000;
// A row of at most so many vectors is done under masks alone, without a second copy of the body.
constexpr int64_t kMaskedOnly = 4;

}  // namespace

LoopNest::LoopNest(LoopSpace space, const KernelView& view, double cost)
    : LoopNest(space, space.extents.empty() ? 1 : ChooseWidth(view, space.extents.back()), cost) {}

LoopNest::LoopNest(LoopSpace space, int width, double cost) : space_(std::move(space)), width_(width) {
  if (space_.extents.empty()) return;
  int64_t row = space_.extents.back();
  int64_t suffix = space_.strides.empty() ? 1 : Product(space_.extents);
  units_ = 1;
  while (prefix_ + 1 < space_.extents.size() && static_cast<double>(suffix) * cost > kUnitNs) {
    units_ *= space_.extents[prefix_];
    suffix /= space_.extents[prefix_];
    ++prefix_;
  }
  block_ = row;
  if (prefix_ + 1 == space_.extents.size()) {
    int64_t wanted = std::max<int64_t>(int64_t{16} * width_, static_cast<int64_t>(kUnitNs / cost));
    wanted = (wanted + width_ - 1) / width_ * width_;
    if (row > 2 * wanted) {
      block_ = wanted;
      blocks_ = (row + block_ - 1) / block_;
      units_ *= blocks_;
    }
  }
}

KernelPhase LoopNest::Phase(std::string function, int64_t elements, double cost) const {
  return PhaseOf(std::move(function), units_, static_cast<double>(elements) * cost);
}

absl::Status LoopNest::Emit(KernelFunctionEmitter& function, Body body) const {
  LaneBuilder& lanes = function.lanes();
  lanes.set_width(width_);
  if (units_ == 1) {
    // Still a loop over [begin, end): an empty range must do nothing.
    return EmitIf(lanes, lanes.b.CreateICmpSLT(function.begin(), function.end()),
                  [&] { return EmitUnit(function, lanes.I64(0), body); });
  }
  return EmitLoop(lanes, function.begin(), function.end(), 1,
                  [&](llvm::Value* unit) { return EmitUnit(function, unit, body); });
}

absl::Status LoopNest::EmitUnit(KernelFunctionEmitter& function, llvm::Value* unit, Body body) const {
  LaneBuilder& lanes = function.lanes();
  IndexBuilder& index = function.elements().index();
  llvm::Value* block = lanes.I64(0);
  Index rest = index.Uniform(unit);
  if (blocks_ > 1) {
    block = index.Rem(rest, blocks_).base;
    rest = index.Div(rest, blocks_);
  }
  Digits at(space_.extents.size());
  for (size_t k = 0; k < at.size(); ++k) at[k] = {Index{}, space_.strides[k], space_.extents[k]};
  for (size_t k = prefix_; k-- > 0;) {
    at[k].index = k == 0 ? rest : index.Rem(rest, space_.extents[k]);
    rest = index.Div(rest, space_.extents[k]);
  }
  return EmitMiddle(function, prefix_, at, block, body);
}

absl::Status LoopNest::EmitMiddle(KernelFunctionEmitter& function, size_t digit, Digits& at,
                                  llvm::Value* block, Body body) const {
  if (digit + 1 >= at.size()) return EmitRow(function, at, block, body);
  LaneBuilder& lanes = function.lanes();
  return EmitLoop(lanes, lanes.I64(0), lanes.I64(space_.extents[digit]), 1, [&](llvm::Value* i) {
    at[digit].index = function.elements().index().Uniform(i);
    return EmitMiddle(function, digit + 1, at, block, body);
  });
}

absl::Status LoopNest::EmitRow(KernelFunctionEmitter& function, Digits& at, llvm::Value* block,
                               Body body) const {
  LaneBuilder& lanes = function.lanes();
  auto& b = lanes.b;
  int64_t row = space_.extents.back();
  auto vector_at = [&](llvm::Value* i) {
    at.back().index = {i, width_ == 1 ? 0 : 1, nullptr, width_};
    Digits digits;  // those that can move
    for (const Digit& digit : at) {
      if (digit.extent > 1) digits.push_back(digit);
    }
    return digits;
  };
  // Lanes below `end`.
  auto mask_at = [&](llvm::Value* i, llvm::Value* end) {
    llvm::Value* numbers = b.CreateAdd(lanes.Splat(i), lanes.LaneNumbers(lanes.i64()));
    return b.CreateICmpSLT(numbers, lanes.Splat(end));
  };
  llvm::Value* begin = blocks_ == 1 ? lanes.I64(0) : b.CreateMul(block, lanes.I64(block_));
  llvm::Value* end = lanes.I64(row);
  if (blocks_ > 1) end = lanes.Intrinsic(llvm::Intrinsic::smin, b.CreateAdd(begin, lanes.I64(block_)), end);
  if (row % width_ == 0) {
    return EmitLoop(lanes, begin, end, width_, [&](llvm::Value* i) { return body(vector_at(i), nullptr); });
  }
  if (blocks_ == 1 && row <= kMaskedOnly * width_) {
    return EmitLoop(lanes, begin, end, width_,
                    [&](llvm::Value* i) { return body(vector_at(i), mask_at(i, end)); });
  }
  llvm::Value* whole = lanes.I64(row / width_ * width_);
  llvm::Value* main_end = blocks_ == 1 ? whole : lanes.Intrinsic(llvm::Intrinsic::smin, end, whole);
  SHOAL_RETURN_IF_ERROR(
      EmitLoop(lanes, begin, main_end, width_, [&](llvm::Value* i) { return body(vector_at(i), nullptr); }));
  auto tail = [&] { return body(vector_at(whole), mask_at(whole, lanes.I64(row))); };
  if (blocks_ == 1) return tail();
  return EmitIf(lanes, b.CreateICmpEQ(end, lanes.I64(row)), tail);
}

// Lanes that are not neighbours in memory, in the order of the lanes.
static void StoreApart(LaneBuilder& lanes, ElementType type, Element value, llvm::Value* pointer,
                       llvm::Value* offsets, llvm::Value* mask) {
  auto& b = lanes.b;
  value = lanes.Splat(value);
  llvm::Value* bytes = b.CreateMul(offsets, lanes.ConstInt(offsets, ByteWidth(type)));
  int part = ByteWidth(RealPart(type));
  auto store = [&](llvm::Value* raw, int64_t shift) {
    llvm::Value* first = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), pointer, static_cast<uint64_t>(shift));
    b.CreateMaskedScatter(raw, b.CreateGEP(b.getInt8Ty(), first, bytes),
                          llvm::Align(static_cast<uint64_t>(part)), mask);
  };
  if (!IsComplex(type)) return store(lanes.ToMemory(type, value.re), 0);
  store(value.re, 0);
  store(value.im, part);
}

void StoreAt(LaneBuilder& lanes, IndexBuilder& index, ElementType type, Element value, llvm::Value* pointer,
             const Digits& at, llvm::Value* mask) {
  Index offset = index.Linear(at);
  if (!offset.IsAffine() || (offset.step != 0 && offset.step != 1)) {
    return StoreApart(lanes, type, value, pointer, index.Value(offset), mask);
  }
  llvm::Value* bytes = lanes.b.CreateMul(offset.base, lanes.I64(ByteWidth(type)));
  lanes.Store(type, value, lanes.b.CreateGEP(lanes.b.getInt8Ty(), pointer, bytes), mask);
}

}  // namespace shoal

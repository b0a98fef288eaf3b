// LoopNest: the loops of a kernel over a row-major space. Internal to core/codegen.
//
// The outer digits that fit make the units; what is left runs as loops inside, the last one over `width`
// lanes at a time. A long last loop is cut into blocks, which are units too. Where the row is no multiple of
// the width, the rest is done under a mask.
#pragma once

#include "core/codegen/kernel_view.h"

namespace shoal {

class LoopNest {
 public:
  // `cost` is the estimated time of one element in nanoseconds.
  LoopNest(LoopSpace space, const KernelView& view, double cost);

  int width() const { return width_; }
  int64_t units() const { return units_; }
  // Lanes are chosen by the caller.
  LoopNest(LoopSpace space, int width, double cost);

  // The phase of such a nest over `elements` elements.
  KernelPhase Phase(std::string function, int64_t elements, double cost) const;

  // Emits the loops over [begin, end) of the function's units. body(at, mask) is called while they are
  // emitted, once or twice; mask is null where all lanes exist.
  using Body = absl::FunctionRef<absl::Status(const Digits& at, llvm::Value* mask)>;
  absl::Status Emit(KernelFunctionEmitter& function, Body body) const;

 private:
  absl::Status EmitUnit(KernelFunctionEmitter& function, llvm::Value* unit, Body body) const;
  absl::Status EmitMiddle(KernelFunctionEmitter& function, size_t digit, Digits& at, llvm::Value* block,
                          Body body) const;
  absl::Status EmitRow(KernelFunctionEmitter& function, Digits& at, llvm::Value* block, Body body) const;

  LoopSpace space_;
  int width_ = 1;
  size_t prefix_ = 0;   // so many outer digits are part of the unit
  int64_t block_ = 0;   // elements of the last digit that one unit does
  int64_t blocks_ = 1;  // units along the last digit
  int64_t units_ = 0;
};

// Stores to pointer + position, lane by lane if lanes are not neighbours there. With several lanes the
// position is not uniform.
void StoreAt(LaneBuilder& lanes, IndexBuilder& index, ElementType type, Element value, llvm::Value* pointer,
             const Digits& at, llvm::Value* mask);

}  // namespace shoal

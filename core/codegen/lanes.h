// LaneBuilder: LLVM's IRBuilder with element types and lanes. Internal to core/codegen: includes LLVM.
//
// Kernels are emitted as vector code: one body computes `width` neighbouring elements. A value is either
// uniform (an LLVM scalar, the same in all lanes) or a vector of `width` lanes; binary operations spread a
// uniform operand. With width 1 (tails, scalar loops) everything is uniform.
//
// In registers an element is:  pred: i1 · integers: iN (s2, s4, u2, u4: i8, always sign- or zero-extended) ·
// f32, f64: themselves · narrower floats: f32, always rounded to the narrow type (RoundTo) · complex: two
// values.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/jit/ir_module.h"
#include "core/types/element_type.h"
#include "llvm/IR/IRBuilder.h"

namespace shoal {

// One element (or one per lane). `im` is null but for complex types.
struct Element {
  llvm::Value* re = nullptr;
  llvm::Value* im = nullptr;
};

class LaneBuilder {
 public:
  LaneBuilder(IrModule& ir, int width) : ir_(ir), b(ir.context->llvm), width_(width) {}

  IrModule& ir() { return ir_; }
  llvm::LLVMContext& context() { return ir_.context->llvm; }
  int width() const { return width_; }
  void set_width(int width) { width_ = width; }

  // Types. Of a complex type: its parts.
  llvm::Type* RegisterType(ElementType type);
  llvm::Type* i64() { return b.getInt64Ty(); }
  static bool IsVector(llvm::Value* v) { return v->getType()->isVectorTy(); }
  // `scalar`, or the vector of it that has v's lanes.
  llvm::Type* LikeLanes(llvm::Value* v, llvm::Type* scalar);
  llvm::Value* Splat(llvm::Value* v);  // to `width` lanes, if it is not yet
  Element Splat(Element e);
  void Unify(llvm::Value*& x, llvm::Value*& y);  // spreads the uniform one if the other is a vector
  void Unify(Element& x, Element& y);
  llvm::Value* Const(llvm::Value* like, double value);  // of like's type
  llvm::Value* ConstInt(llvm::Value* like, int64_t value);
  llvm::Value* Const0(llvm::Value* like) { return llvm::Constant::getNullValue(like->getType()); }
  llvm::Value* I64(int64_t value) { return b.getInt64(value); }
  // One lane of a vector; a uniform value itself.
  llvm::Value* Lane(llvm::Value* v, int lane);
  Element Lane(Element e, int lane);
  // <0, 1, ... width-1> of `type`.
  llvm::Value* LaneNumbers(llvm::Type* type);

  // Memory. `pointer` points at the first lane's element; lanes are contiguous. `mask` (i1s, or null for all)
  // tells which lanes exist: the others give anything and are not touched.
  Element LoadUniform(ElementType type, llvm::Value* pointer, llvm::MDNode* alias_scope);
  Element LoadVector(ElementType type, llvm::Value* pointer, llvm::Value* mask, llvm::MDNode* alias_scope);
  Element LoadVectorOrScalar(ElementType type, llvm::Value* pointer, llvm::Value* mask) {
    return width_ == 1 ? LoadUniform(type, pointer, nullptr) : LoadVector(type, pointer, mask, nullptr);
  }
  // Each lane at base + offsets[lane] elements.
  Element LoadGather(ElementType type, llvm::Value* base, llvm::Value* offsets, llvm::Value* mask,
                     llvm::MDNode* alias_scope);
  // To `width` elements from `pointer` on, but for lanes where `mask` (null: all) does not hold.
  void Store(ElementType type, Element value, llvm::Value* pointer, llvm::Value* mask);
  // Marks loads of operands as independent of stores of results; null: no marks.
  llvm::MDNode* input_scope = nullptr;

  // Registers <-> memory bits of narrow types.
  Element FromMemory(ElementType type, llvm::Value* raw);
  llvm::Value* ToMemory(ElementType type, llvm::Value* value);
  // Rounds an f32 to what `type` can hold; wider types are left alone.
  llvm::Value* RoundTo(ElementType type, llvm::Value* value);
  Element RoundTo(ElementType type, Element e);
  // Brings an i8 back into the range of a 2- or 4-bit integer.
  llvm::Value* WrapNarrow(ElementType type, llvm::Value* value);

  // Arithmetic with spreading.
  llvm::Value* Binary(llvm::Instruction::BinaryOps op, llvm::Value* x, llvm::Value* y);
  llvm::Value* Compare(llvm::CmpInst::Predicate predicate, llvm::Value* x, llvm::Value* y);
  llvm::Value* Select(llvm::Value* condition, llvm::Value* yes, llvm::Value* no);
  Element Select(llvm::Value* condition, Element yes, Element no);
  llvm::Value* Intrinsic(llvm::Intrinsic::ID id, llvm::Value* x);
  llvm::Value* Intrinsic(llvm::Intrinsic::ID id, llvm::Value* x, llvm::Value* y);
  llvm::Value* FAdd(llvm::Value* x, llvm::Value* y) { return Binary(llvm::Instruction::FAdd, x, y); }
  llvm::Value* FSub(llvm::Value* x, llvm::Value* y) { return Binary(llvm::Instruction::FSub, x, y); }
  llvm::Value* FMul(llvm::Value* x, llvm::Value* y) { return Binary(llvm::Instruction::FMul, x, y); }
  llvm::Value* FDiv(llvm::Value* x, llvm::Value* y) { return Binary(llvm::Instruction::FDiv, x, y); }
  // null is "all lanes".
  llvm::Value* AndMask(llvm::Value* x, llvm::Value* y);

  // Calls C function `name` (one of RuntimeSymbols) once a lane.
  llvm::Value* CallPerLane(absl::string_view name, llvm::Type* result,
                           absl::Span<llvm::Value* const> arguments);

 private:
  IrModule& ir_;

 public:
  llvm::IRBuilder<> b;

 private:
  llvm::Type* RawType(ElementType type);  // what one part looks like in memory
  llvm::Value* LoadRaw(llvm::Type* type, llvm::Value* pointer, int align, llvm::MDNode* alias_scope);

  int width_;
};

}  // namespace shoal

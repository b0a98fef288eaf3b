#include "core/codegen/total_order.h"

namespace shoal {

llvm::Value* TotalOrderKey(LaneBuilder& lanes, llvm::Value* x) {
  auto& b = lanes.b;
  unsigned bits = x->getType()->getScalarSizeInBits();
  llvm::Type* integer = lanes.LikeLanes(x, b.getIntNTy(bits));
  llvm::Value* raw = b.CreateBitCast(x, integer);
  llvm::Value* sign = b.CreateAShr(raw, bits - 1);
  return b.CreateXor(raw, b.CreateLShr(sign, 1));
}

llvm::Value* SortKey(LaneBuilder& lanes, ElementType type, llvm::Value* x) {
  auto& b = lanes.b;
  bool is_signed = IsSigned(type) || IsFloat(type);
  if (IsFloat(type)) x = TotalOrderKey(lanes, x);
  unsigned bits = x->getType()->getScalarSizeInBits() > 32 ? 64 : 32;
  llvm::Type* key = lanes.LikeLanes(x, b.getIntNTy(bits));
  x = b.CreateIntCast(x, key, is_signed);
  return is_signed ? b.CreateXor(x, llvm::ConstantInt::get(key, llvm::APInt::getSignMask(bits))) : x;
}

}  // namespace shoal

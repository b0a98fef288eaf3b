#include "core/codegen/lanes.h"

#include "absl/strings/str_cat.h"
#include "core/codegen/elementary.h"
#include "llvm/IR/Intrinsics.h"

namespace shoal {

namespace {

bool IsPackedInt(ElementType type) { return IsInteger(type) && BitWidth(type) < 8; }
bool IsF8(ElementType type) { return IsFloat(type) && BitWidth(type) <= 8; }

}  // namespace

llvm::Type* LaneBuilder::RegisterType(ElementType type) {
  type = RealPart(type);
  if (type == ElementType::kPred) return b.getInt1Ty();
  if (type == ElementType::kF64) return b.getDoubleTy();
  if (IsFloat(type)) return b.getFloatTy();
  return b.getIntNTy(8 * ByteWidth(type));
}

llvm::Type* LaneBuilder::RawType(ElementType type) {
  type = RealPart(type);
  if (type == ElementType::kF64) return b.getDoubleTy();
  if (type == ElementType::kF32) return b.getFloatTy();
  if (type == ElementType::kF16) return b.getHalfTy();
  return b.getIntNTy(8 * ByteWidth(type));
}

llvm::Type* LaneBuilder::LikeLanes(llvm::Value* v, llvm::Type* scalar) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  return vector == nullptr ? scalar : llvm::FixedVectorType::get(scalar, vector->getNumElements());
}

llvm::Value* LaneBuilder::Splat(llvm::Value* v) {
  return width_ == 1 || IsVector(v) ? v : b.CreateVectorSplat(width_, v);
}

Element LaneBuilder::Splat(Element e) { return {Splat(e.re), e.im == nullptr ? nullptr : Splat(e.im)}; }

void LaneBuilder::Unify(llvm::Value*& x, llvm::Value*& y) {
  if (IsVector(x) == IsVector(y)) return;
  x = Splat(x);
  y = Splat(y);
}

void LaneBuilder::Unify(Element& x, Element& y) {
  Unify(x.re, y.re);
  if (x.im != nullptr && y.im != nullptr) Unify(x.im, y.im);
}

llvm::Value* LaneBuilder::Const(llvm::Value* like, double value) {
  return llvm::ConstantFP::get(like->getType(), value);
}

llvm::Value* LaneBuilder::ConstInt(llvm::Value* like, int64_t value) {
  return llvm::ConstantInt::get(like->getType(), value, /*IsSigned=*/true);
}

llvm::Value* LaneBuilder::Lane(llvm::Value* v, int lane) {
  return IsVector(v) ? b.CreateExtractElement(v, static_cast<uint64_t>(lane)) : v;
}

Element LaneBuilder::Lane(Element e, int lane) {
  return {Lane(e.re, lane), e.im == nullptr ? nullptr : Lane(e.im, lane)};
}

llvm::Value* LaneBuilder::LaneNumbers(llvm::Type* type) {
  llvm::SmallVector<llvm::Constant*, 64> numbers;
  for (int i = 0; i < width_; ++i) {
    numbers.push_back(type->isFloatingPointTy() ? llvm::ConstantFP::get(type, i)
                                                : llvm::ConstantInt::get(type, i));
  }
  return width_ == 1 ? numbers[0] : llvm::ConstantVector::get(numbers);
}

llvm::Value* LaneBuilder::LoadRaw(llvm::Type* type, llvm::Value* pointer, int align,
                                  llvm::MDNode* alias_scope) {
  llvm::LoadInst* load = b.CreateAlignedLoad(type, pointer, llvm::Align(align));
  if (alias_scope != nullptr) load->setMetadata(llvm::LLVMContext::MD_alias_scope, alias_scope);
  return load;
}

Element LaneBuilder::LoadUniform(ElementType type, llvm::Value* pointer, llvm::MDNode* alias_scope) {
  llvm::Type* raw = RawType(type);
  int align = ByteWidth(RealPart(type));
  if (!IsComplex(type)) return FromMemory(type, LoadRaw(raw, pointer, align, alias_scope));
  llvm::Value* im = b.CreateConstInBoundsGEP1_64(raw, pointer, 1);
  return {LoadRaw(raw, pointer, align, alias_scope), LoadRaw(raw, im, align, alias_scope)};
}

Element LaneBuilder::LoadVector(ElementType type, llvm::Value* pointer, llvm::Value* mask,
                                llvm::MDNode* alias_scope) {
  llvm::Type* raw = RawType(type);
  int align = ByteWidth(RealPart(type));
  int parts = IsComplex(type) ? 2 : 1;
  llvm::Type* vector = llvm::FixedVectorType::get(raw, width_ * parts);
  llvm::Value* loaded;
  if (mask == nullptr) {
    loaded = LoadRaw(vector, pointer, align, alias_scope);
  } else {
    llvm::Value* wide = mask;
    if (parts == 2) {
      llvm::SmallVector<int, 64> twice;
      for (int i = 0; i < 2 * width_; ++i) twice.push_back(i / 2);
      wide = b.CreateShuffleVector(mask, twice);
    }
    llvm::CallInst* load =
        b.CreateMaskedLoad(vector, pointer, llvm::Align(align), wide, llvm::Constant::getNullValue(vector));
    if (alias_scope != nullptr) load->setMetadata(llvm::LLVMContext::MD_alias_scope, alias_scope);
    loaded = load;
  }
  if (parts == 1) return FromMemory(type, loaded);
  llvm::SmallVector<int, 32> even, odd;
  for (int i = 0; i < width_; ++i) {
    even.push_back(2 * i);
    odd.push_back(2 * i + 1);
  }
  return {b.CreateShuffleVector(loaded, even), b.CreateShuffleVector(loaded, odd)};
}

Element LaneBuilder::LoadGather(ElementType type, llvm::Value* base, llvm::Value* offsets, llvm::Value* mask,
                                llvm::MDNode* alias_scope) {
  llvm::Type* raw = RawType(type);
  int part_bytes = ByteWidth(RealPart(type));
  if (mask != nullptr) offsets = Select(mask, offsets, llvm::Constant::getNullValue(offsets->getType()));
  llvm::Value* bytes = b.CreateMul(offsets, ConstInt(offsets, ByteWidth(type)));
  auto load = [&](int64_t shift) -> llvm::Value* {
    llvm::Value* first = shift == 0 ? base : b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), base, shift);
    if (part_bytes >= 4) {
      llvm::Value* pointers = b.CreateGEP(b.getInt8Ty(), first, bytes);
      llvm::Type* vector = llvm::FixedVectorType::get(raw, width_);
      return b.CreateMaskedGather(vector, pointers, llvm::Align(part_bytes));
    }
    llvm::Value* result = llvm::PoisonValue::get(llvm::FixedVectorType::get(raw, width_));
    for (int i = 0; i < width_; ++i) {
      llvm::Value* pointer = b.CreateGEP(b.getInt8Ty(), first, Lane(bytes, i));
      result = b.CreateInsertElement(result, LoadRaw(raw, pointer, part_bytes, alias_scope),
                                     static_cast<uint64_t>(i));
    }
    return result;
  };
  if (!IsComplex(type)) return FromMemory(type, load(0));
  return {load(0), load(part_bytes)};
}

void LaneBuilder::Store(ElementType type, Element value, llvm::Value* pointer, llvm::Value* mask) {
  llvm::Align align(ByteWidth(RealPart(type)));
  auto store = [&](llvm::Value* raw, llvm::Value* to, llvm::Value* where) {
    llvm::Instruction* instruction =
        where == nullptr ? static_cast<llvm::Instruction*>(b.CreateAlignedStore(raw, to, align))
                         : b.CreateMaskedStore(raw, to, align, where);
    if (input_scope != nullptr) instruction->setMetadata(llvm::LLVMContext::MD_noalias, input_scope);
  };
  value = Splat(value);
  if (!IsComplex(type)) return store(ToMemory(type, value.re), pointer, mask);
  if (width_ == 1) {
    store(value.re, pointer, nullptr);
    return store(value.im, b.CreateConstInBoundsGEP1_64(value.re->getType(), pointer, 1), nullptr);
  }
  llvm::SmallVector<int, 64> interleave, twice;
  for (int i = 0; i < width_; ++i) {
    interleave.append({i, width_ + i});
    twice.append({i, i});
  }
  llvm::Value* wide = mask == nullptr ? nullptr : b.CreateShuffleVector(mask, twice);
  store(b.CreateShuffleVector(value.re, value.im, interleave), pointer, wide);
}

Element LaneBuilder::FromMemory(ElementType type, llvm::Value* raw) {
  if (type == ElementType::kPred) return {b.CreateICmpNE(raw, llvm::Constant::getNullValue(raw->getType()))};
  if (type == ElementType::kF16) return {b.CreateFPExt(raw, LikeLanes(raw, b.getFloatTy()))};
  if (type == ElementType::kBF16) {
    llvm::Value* bits = b.CreateZExt(raw, LikeLanes(raw, b.getInt32Ty()));
    return {b.CreateBitCast(b.CreateShl(bits, 16), LikeLanes(raw, b.getFloatTy()))};
  }
  if (IsF8(type)) {
    llvm::Value* bits = b.CreateZExt(raw, LikeLanes(raw, b.getInt32Ty()));
    auto decoded = InlineElementary(*this, absl::StrCat("decode_", ElementTypeName(type)), {bits});
    return {decoded.ok() ? *decoded : llvm::PoisonValue::get(LikeLanes(raw, b.getFloatTy()))};
  }
  // Host arrays have anything above the bits that count: ml_dtypes zeros, whatever the sign.
  return {WrapNarrow(type, raw)};
}

llvm::Value* LaneBuilder::ToMemory(ElementType type, llvm::Value* value) {
  if (type == ElementType::kPred) return b.CreateZExt(value, LikeLanes(value, b.getInt8Ty()));
  if (type == ElementType::kF16) return b.CreateFPTrunc(value, LikeLanes(value, b.getHalfTy()));
  if (type == ElementType::kBF16) {
    llvm::Value* bits = b.CreateBitCast(value, LikeLanes(value, b.getInt32Ty()));
    return b.CreateTrunc(b.CreateLShr(bits, 16), LikeLanes(value, b.getInt16Ty()));
  }
  if (IsF8(type)) {
    auto encoded = InlineElementary(*this, absl::StrCat("encode_", ElementTypeName(type)), {value});
    llvm::Value* bits = encoded.ok() ? *encoded : llvm::PoisonValue::get(LikeLanes(value, b.getInt32Ty()));
    return b.CreateTrunc(bits, LikeLanes(value, b.getInt8Ty()));
  }
  return value;
}

llvm::Value* LaneBuilder::RoundTo(ElementType type, llvm::Value* value) {
  if (!IsNarrowFloat(type)) return value;
  if (type == ElementType::kF16) {
    return b.CreateFPExt(b.CreateFPTrunc(value, LikeLanes(value, b.getHalfTy())), value->getType());
  }
  if (type == ElementType::kBF16) {
    // To nearest even in the integer domain; a NaN gets its quiet bit, or it could round to infinity.
    llvm::Type* integer = LikeLanes(value, b.getInt32Ty());
    llvm::Value* bits = b.CreateBitCast(value, integer);
    llvm::Value* odd = b.CreateAnd(b.CreateLShr(bits, 16), ConstInt(bits, 1));
    llvm::Value* rounded = b.CreateAdd(bits, b.CreateAdd(odd, ConstInt(bits, 0x7fff)));
    llvm::Value* nan = b.CreateOr(bits, ConstInt(bits, 0x400000));
    llvm::Value* chosen = b.CreateSelect(b.CreateFCmpUNO(value, value), nan, rounded);
    return b.CreateBitCast(b.CreateAnd(chosen, llvm::ConstantInt::get(integer, 0xffff0000u)),
                           value->getType());
  }
  llvm::Value* memory = ToMemory(type, value);
  return FromMemory(type, memory).re;
}

Element LaneBuilder::RoundTo(ElementType type, Element e) {
  return IsNarrowFloat(type) ? Element{RoundTo(type, e.re)} : e;
}

llvm::Value* LaneBuilder::WrapNarrow(ElementType type, llvm::Value* value) {
  if (!IsPackedInt(type)) return value;
  uint64_t shift = 8 - BitWidth(type);
  llvm::Value* up = b.CreateShl(value, shift);
  return IsSigned(type) ? b.CreateAShr(up, shift) : b.CreateLShr(up, shift);
}

llvm::Value* LaneBuilder::Binary(llvm::Instruction::BinaryOps op, llvm::Value* x, llvm::Value* y) {
  Unify(x, y);
  return b.CreateBinOp(op, x, y);
}

llvm::Value* LaneBuilder::Compare(llvm::CmpInst::Predicate predicate, llvm::Value* x, llvm::Value* y) {
  Unify(x, y);
  return b.CreateCmp(predicate, x, y);
}

llvm::Value* LaneBuilder::Select(llvm::Value* condition, llvm::Value* yes, llvm::Value* no) {
  if (IsVector(condition) || IsVector(yes) || IsVector(no)) {
    yes = Splat(yes);
    no = Splat(no);
  }
  return b.CreateSelect(condition, yes, no);
}

Element LaneBuilder::Select(llvm::Value* condition, Element yes, Element no) {
  return {Select(condition, yes.re, no.re), yes.im == nullptr ? nullptr : Select(condition, yes.im, no.im)};
}

llvm::Value* LaneBuilder::Intrinsic(llvm::Intrinsic::ID id, llvm::Value* x) {
  return b.CreateUnaryIntrinsic(id, x);
}

llvm::Value* LaneBuilder::Intrinsic(llvm::Intrinsic::ID id, llvm::Value* x, llvm::Value* y) {
  Unify(x, y);
  return b.CreateBinaryIntrinsic(id, x, y);
}

llvm::Value* LaneBuilder::AndMask(llvm::Value* x, llvm::Value* y) {
  if (x == nullptr) return y;
  return y == nullptr ? x : Binary(llvm::Instruction::And, x, y);
}

llvm::Value* LaneBuilder::CallPerLane(absl::string_view name, llvm::Type* result,
                                      absl::Span<llvm::Value* const> arguments) {
  llvm::SmallVector<llvm::Type*, 3> types;
  bool vector = false;
  for (llvm::Value* argument : arguments) {
    types.push_back(argument->getType()->getScalarType());
    vector |= IsVector(argument);
  }
  llvm::FunctionCallee callee = ir_.module->getOrInsertFunction(
      llvm::StringRef(name.data(), name.size()), llvm::FunctionType::get(result, types, /*isVarArg=*/false));
  if (auto* function = llvm::dyn_cast<llvm::Function>(callee.getCallee())) {
    function->setDoesNotThrow();
    function->setDoesNotAccessMemory();
  }
  llvm::Value* collected =
      vector ? llvm::PoisonValue::get(llvm::FixedVectorType::get(result, width_)) : nullptr;
  for (int i = 0; i < (vector ? width_ : 1); ++i) {
    llvm::SmallVector<llvm::Value*, 3> scalars;
    for (llvm::Value* argument : arguments) scalars.push_back(Lane(argument, i));
    llvm::Value* value = b.CreateCall(callee, scalars);
    if (!vector) return value;
    collected = b.CreateInsertElement(collected, value, static_cast<uint64_t>(i));
  }
  return collected;
}

}  // namespace shoal

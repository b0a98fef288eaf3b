// Elements of constants and iota.
#include <cstring>

#include "core/base/status.h"
#include "core/codegen/element.h"

namespace shoal {
namespace {

// The number at `bytes` as a register value. NaN payloads are kept: the bits go in, not a double.
llvm::Constant* Part(LaneBuilder& lanes, ElementType type, const char* bytes) {
  llvm::Type* in = lanes.RegisterType(type);
  uint64_t bits = 0;
  std::memcpy(&bits, bytes, ByteWidth(type));
  if (type == ElementType::kF64)
    return llvm::ConstantFP::get(in, llvm::APFloat(llvm::APFloat::IEEEdouble(), llvm::APInt(64, bits)));
  if (type == ElementType::kBF16) bits <<= 16;
  if (type == ElementType::kF32 || type == ElementType::kBF16) {
    return llvm::ConstantFP::get(in, llvm::APFloat(llvm::APFloat::IEEEsingle(), llvm::APInt(32, bits)));
  }
  if (IsFloat(type)) return llvm::ConstantFP::get(in, FloatFromBits(type, bits));
  if (type == ElementType::kPred) return lanes.b.getInt1(bits != 0);
  return llvm::ConstantInt::get(in, bits);
}

Element ConstantElement(LaneBuilder& lanes, const Literal& literal, int64_t i) {
  ElementType type = literal.shape().element_type();
  const char* bytes = literal.data() + i * ByteWidth(type);
  if (!IsComplex(type)) return {Part(lanes, type, bytes)};
  ElementType part = RealPart(type);
  return {Part(lanes, part, bytes), Part(lanes, part, bytes + ByteWidth(part))};
}

// The literal's bytes as a global of the module, once.
llvm::Value* GlobalBytes(LaneBuilder& lanes, const Instruction& op) {
  std::string name = "constant." + op.name();
  llvm::Module& module = *lanes.ir().module;
  if (llvm::GlobalVariable* global = module.getGlobalVariable(name, true)) return global;
  const Literal& literal = op.literal();
  llvm::Constant* bytes = llvm::ConstantDataArray::getString(
      lanes.context(), llvm::StringRef(literal.data(), literal.size_bytes()), false);
  auto* global = new llvm::GlobalVariable(module, bytes->getType(), /*isConstant=*/true,
                                          llvm::GlobalValue::InternalLinkage, bytes, name);
  global->setAlignment(llvm::Align(64));
  return global;
}

Element EmitIota(ElementEmitter& e, const Instruction& op, const Digits& at) {
  int64_t dimension = op.dimensions()[0];
  ElementType type = op.shape().element_type();
  LaneBuilder& lanes = e.lanes();
  auto& b = e.b();
  llvm::Value* i = e.index().Value(e.index().Dimension(at, op.shape(), dimension));
  // Conversions of 32-bit integers vectorise everywhere.
  if (op.shape().dim(dimension) < (int64_t{1} << 31))
    i = b.CreateTrunc(i, lanes.LikeLanes(i, b.getInt32Ty()));
  llvm::Type* target = lanes.LikeLanes(i, lanes.RegisterType(type));
  if (IsFloat(type)) return {lanes.RoundTo(type, b.CreateSIToFP(i, target))};
  if (IsComplex(type)) {
    llvm::Value* re = b.CreateSIToFP(i, target);
    return {re, llvm::Constant::getNullValue(re->getType())};
  }
  return {lanes.WrapNarrow(type, b.CreateIntCast(i, target, true))};
}

}  // namespace

absl::StatusOr<Element> EmitConstantFamily(ElementEmitter& e, const Instruction& op, const Digits& at) {
  if (op.opcode() == Opcode::kIota) return EmitIota(e, op, at);
  const Literal& literal = op.literal();
  if (literal.shape().ElementCount() > 0 && literal.IsSplat()) return ConstantElement(e.lanes(), literal, 0);
  return e.Load(op.shape(), GlobalBytes(e.lanes(), op), at);
}

}  // namespace shoal

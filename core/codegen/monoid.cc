#include "core/codegen/monoid.h"

#include "core/base/status.h"

namespace shoal {

std::optional<Opcode> MonoidOf(const Computation& region) {
  const Instruction& root = *region.root();
  if (region.parameters().size() != 2 || root.operand_count() != 2) return std::nullopt;
  const Instruction *a = region.parameter(0), *b = region.parameter(1);
  bool both =
      (root.operand(0) == a && root.operand(1) == b) || (root.operand(0) == b && root.operand(1) == a);
  if (!both) return std::nullopt;
  switch (root.opcode()) {
    case Opcode::kAdd:
    case Opcode::kMultiply:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kAnd:
    case Opcode::kOr:
    case Opcode::kXor:
      return root.opcode();
    default:
      return std::nullopt;
  }
}

static llvm::Constant* IntegerLimit(llvm::Type* type, ElementType element, bool lowest) {
  unsigned bits = type->getIntegerBitWidth();
  unsigned used = static_cast<unsigned>(BitWidth(element));
  if (element == ElementType::kPred) return llvm::ConstantInt::get(type, lowest ? 0 : 1);
  if (IsSigned(element)) {
    llvm::APInt limit = lowest ? llvm::APInt::getSignedMinValue(used) : llvm::APInt::getSignedMaxValue(used);
    return llvm::ConstantInt::get(type, limit.sext(bits));
  }
  return llvm::ConstantInt::get(type,
                                lowest ? llvm::APInt(bits, 0) : llvm::APInt::getMaxValue(used).zext(bits));
}

Element IdentityOf(LaneBuilder& lanes, Opcode monoid, ElementType type) {
  llvm::Type* in = lanes.RegisterType(type);
  bool real = in->isFloatingPointTy();
  auto number = [&](int value) -> llvm::Constant* {
    return real ? llvm::ConstantFP::get(in, value) : llvm::ConstantInt::get(in, static_cast<uint64_t>(value));
  };
  llvm::Constant* re = nullptr;
  switch (monoid) {
    case Opcode::kMultiply:
      re = number(1);
      break;
    case Opcode::kMaximum:
      re = real ? llvm::ConstantFP::getInfinity(in, true) : IntegerLimit(in, type, true);
      break;
    case Opcode::kMinimum:
      re = real ? llvm::ConstantFP::getInfinity(in) : IntegerLimit(in, type, false);
      break;
    case Opcode::kAnd:
      re = llvm::ConstantInt::getAllOnesValue(in);
      break;
    default:
      re = number(0);
      break;
  }
  return {re, IsComplex(type) ? number(0) : nullptr};
}

absl::StatusOr<Element> CombineMonoid(ElementEmitter& e, const Computation& region, Opcode monoid,
                                      ElementType type, Element x, Element y) {
  // Not the region's own: that rounds narrow floats, and has no f64 where sums of f32 run so.
  if (IsFloat(type) && monoid == Opcode::kAdd) return Element{e.lanes().FAdd(x.re, y.re)};
  if (IsFloat(type) && monoid == Opcode::kMultiply) return Element{e.lanes().FMul(x.re, y.re)};
  SHOAL_ASSIGN_OR_RETURN(std::vector<Element> results, e.EmitRegion(region, {x, y}));
  return results[0];
}

}  // namespace shoal

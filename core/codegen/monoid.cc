#include "core/codegen/monoid.h"

#include <complex>

#include "core/base/status.h"
#include "core/ops/reduction.h"

namespace shoal {

Element IdentityOf(LaneBuilder& lanes, Opcode monoid, ElementType type, ElementType partial) {
  const Literal identity = *ReductionIdentity(monoid, type);
  llvm::Type* in = lanes.RegisterType(partial);
  auto number = [&](double value) { return llvm::ConstantFP::get(in, value); };
  if (type == ElementType::kC64) {
    const auto value = identity.Get<std::complex<float>>(0);
    return {number(value.real()), number(value.imag())};
  }
  if (type == ElementType::kC128) {
    const auto value = identity.Get<std::complex<double>>(0);
    return {number(value.real()), number(value.imag())};
  }
  if (IsFloat(type)) return {number(identity.AsDouble(0))};
  const llvm::APInt bits(64, static_cast<uint64_t>(identity.AsInt(0)));
  return {llvm::ConstantInt::get(in, bits.trunc(in->getIntegerBitWidth()))};
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

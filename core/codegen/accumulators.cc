#include "core/codegen/accumulators.h"

#include <algorithm>

#include "core/base/status.h"
#include "core/codegen/monoid.h"
#include "core/ops/reduction.h"

namespace shoal {

using Values = Accumulators::Values;

static ElementType PartialType(ElementType type, std::optional<Opcode> monoid, bool wide_sums) {
  if (wide_sums && type == ElementType::kF32 && monoid == Opcode::kAdd) return ElementType::kF64;
  return IsNarrowFloat(type) ? ElementType::kF32 : type;
}

Accumulators::Accumulators(absl::Span<const Instruction* const> heroes, bool wide_sums) {
  for (const Instruction* hero : heroes) {
    for (int64_t k = 0; k < hero->operand_count() / 2; ++k) {
      std::optional<Opcode> monoid;
      if (hero->operand_count() == 2) monoid = ReductionOpcode(*hero->called(0));
      const ElementType type = hero->operand(k)->shape().element_type();
      list_.push_back({hero, k, type, monoid, PartialType(type, monoid, wide_sums)});
    }
  }
}

absl::StatusOr<Values> Accumulators::Identity(ElementEmitter& e) const {
  Values values;
  for (const Accumulator& a : list_) {
    Element value;
    if (a.monoid.has_value()) {
      value = IdentityOf(e.lanes(), *a.monoid, a.type, a.partial);
    } else {
      SHOAL_ASSIGN_OR_RETURN(value, e.Emit(*a.hero->operand(a.hero->operand_count() / 2 + a.result), {}));
    }
    values.push_back(e.lanes().Splat(value));
  }
  return values;
}

absl::StatusOr<Values> Accumulators::Combine(ElementEmitter& e, absl::Span<const Element> x,
                                             absl::Span<const Element> y) const {
  Values results;
  for (size_t i = 0; i < list_.size();) {
    const Accumulator& a = list_[i];
    if (a.monoid.has_value()) {
      SHOAL_ASSIGN_OR_RETURN(Element r,
                             CombineMonoid(e, *a.hero->called(0), *a.monoid, a.partial, x[i], y[i]));
      results.push_back(e.lanes().Splat(r));
      ++i;
      continue;
    }
    size_t n = static_cast<size_t>(a.hero->operand_count() / 2);
    Values arguments(x.begin() + i, x.begin() + i + n);
    arguments.insert(arguments.end(), y.begin() + i, y.begin() + i + n);
    SHOAL_ASSIGN_OR_RETURN(Values r, e.EmitRegion(*a.hero->called(0), arguments));
    for (Element& element : r) results.push_back(e.lanes().Splat(element));
    i += n;
  }
  return results;
}

absl::StatusOr<Values> Accumulators::Operands(ElementEmitter& e, const Digits& at, llvm::Value* mask) const {
  Values x;
  for (size_t i = 0; i < list_.size(); ++i) {
    const Accumulator& a = list_[i];
    SHOAL_ASSIGN_OR_RETURN(Element value, e.EmitMasked(*a.hero->operand(a.result), at, mask));
    x.push_back(Widened(e, i, e.lanes().Splat(value)));
  }
  return x;
}

absl::StatusOr<Values> Accumulators::Step(ElementEmitter& e, const Digits& at, llvm::Value* mask,
                                          absl::Span<const Element> current) const {
  SHOAL_ASSIGN_OR_RETURN(Values x, Operands(e, at, mask));
  SHOAL_ASSIGN_OR_RETURN(Values next, Combine(e, current, x));
  if (mask != nullptr) {
    for (size_t i = 0; i < next.size(); ++i) next[i] = e.lanes().Select(mask, next[i], current[i]);
  }
  return next;
}

absl::StatusOr<Values> Accumulators::AcrossLanes(ElementEmitter& e, Values values) const {
  auto& b = e.b();
  int width = e.lanes().width();
  for (int half = width / 2; half >= 1; half /= 2) {
    llvm::SmallVector<int, 64> rotate;
    for (int lane = 0; lane < width; ++lane) rotate.push_back((lane + half) % width);
    Values other;
    for (const Element& v : values) {
      other.push_back(
          {b.CreateShuffleVector(v.re, rotate), v.im ? b.CreateShuffleVector(v.im, rotate) : nullptr});
    }
    SHOAL_ASSIGN_OR_RETURN(values, Combine(e, values, other));
  }
  for (Element& v : values) v = e.lanes().Lane(v, 0);
  return values;
}

bool Accumulators::widens() const {
  return std::all_of(list_.begin(), list_.end(), [](const Accumulator& a) { return a.widens(); });
}

absl::StatusOr<Values> Accumulators::SumOfOperands(ElementEmitter& e, absl::Span<const Digits> at) const {
  Values sums;
  for (size_t i = 0; i < list_.size(); ++i) {
    std::vector<llvm::Value*> terms;
    for (const Digits& position : at) {
      SHOAL_ASSIGN_OR_RETURN(Element value, e.Emit(*list_[i].hero->operand(list_[i].result), position));
      terms.push_back(e.lanes().Splat(value).re);
    }
    for (; terms.size() > 1; terms.resize(terms.size() / 2)) {
      for (size_t k = 0; k < terms.size() / 2; ++k) terms[k] = e.lanes().FAdd(terms[2 * k], terms[2 * k + 1]);
    }
    sums.push_back(Widened(e, i, Element{terms[0]}));
  }
  return sums;
}

Element Accumulators::Widened(ElementEmitter& e, size_t i, Element number) const {
  if (!list_[i].widens()) return number;
  return {e.b().CreateFPExt(number.re, e.lanes().LikeLanes(number.re, e.b().getDoubleTy()))};
}

Element Accumulators::Narrowed(ElementEmitter& e, size_t i, Element value) const {
  // A result that did not grow is one of a row, which was combined in its own type.
  if (!list_[i].widens() || !value.re->getType()->getScalarType()->isDoubleTy()) return value;
  return {e.b().CreateFPTrunc(value.re, e.lanes().LikeLanes(value.re, e.b().getFloatTy()))};
}

absl::StatusOr<Values> Accumulators::Results(ElementEmitter& e, Values values) const {
  for (size_t i = 0; i < values.size(); ++i) {
    const Accumulator& a = list_[i];
    if (a.monoid.has_value()) {
      SHOAL_ASSIGN_OR_RETURN(Element initial, e.Emit(*a.hero->operand(1), {}));
      initial = Widened(e, i, initial);
      SHOAL_ASSIGN_OR_RETURN(values[i],
                             CombineMonoid(e, *a.hero->called(0), *a.monoid, a.partial, initial, values[i]));
    }
    values[i] = e.lanes().RoundTo(a.type, Narrowed(e, i, values[i]));
  }
  return values;
}

}  // namespace shoal

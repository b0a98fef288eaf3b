// Accumulators: the running values of reductions in registers, whatever their regions. Internal to
// core/codegen.
//
// Heroes are reduces or reduce-windows over the same positions. Their results, hero after hero, make one flat
// list; lists of elements below are in its order. A region of one usual operation starts at that operation's
// neutral element, and the initial value goes in once, at the end; any other region starts at the initial
// value, which HLO lets go in any number of times.
#pragma once

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "core/codegen/element.h"

namespace shoal {

// One result of one hero.
struct Accumulator {
  const Instruction* hero = nullptr;
  int64_t result = 0;
  ElementType type = ElementType::kF32;
  std::optional<Opcode> monoid;
  ElementType partial = ElementType::kF32;  // of the running value, in registers and in scratch

  bool widens() const { return type == ElementType::kF32 && partial == ElementType::kF64; }
};

class Accumulators {
 public:
  // Narrow floats run as f32. Sums of f32 run as f64 if `wide_sums`: a mean of 2^k equal numbers is that
  // number, and 10^8 numbers sum to 1e-6 of their sum.
  Accumulators(absl::Span<const Instruction* const> heroes, bool wide_sums);

  size_t size() const { return list_.size(); }
  const Accumulator& operator[](size_t i) const { return list_[i]; }
  std::vector<Accumulator>::const_iterator begin() const { return list_.begin(); }
  std::vector<Accumulator>::const_iterator end() const { return list_.end(); }

  using Values = std::vector<Element>;
  // What changes nothing, in all lanes.
  absl::StatusOr<Values> Identity(ElementEmitter& e) const;
  absl::StatusOr<Values> Combine(ElementEmitter& e, absl::Span<const Element> x,
                                 absl::Span<const Element> y) const;
  // The operands' elements at `at`, in all lanes; anything where `mask` does not hold.
  absl::StatusOr<Values> Operands(ElementEmitter& e, const Digits& at, llvm::Value* mask) const;
  // current op the operands' elements at `at`, in the lanes of `mask`.
  absl::StatusOr<Values> Step(ElementEmitter& e, const Digits& at, llvm::Value* mask,
                              absl::Span<const Element> current) const;
  // All lanes combined into one number.
  absl::StatusOr<Values> AcrossLanes(ElementEmitter& e, Values values) const;
  // Whether all running values are wider than the operands: then `SumOfOperands` leads to fewer widenings.
  bool widens() const;
  // The operands' elements at all of `at`, as running values: combined pairwise, in their own type, before
  // they are widened. `at` is 2^k positions, so that equal numbers still add up exactly. Only where `widens`.
  absl::StatusOr<Values> SumOfOperands(ElementEmitter& e, absl::Span<const Digits> at) const;
  // A number of accumulator i's type as its running value.
  Element Widened(ElementEmitter& e, size_t i, Element number) const;
  // The other way: a running value in accumulator i's type, where it is wider; narrow floats stay f32.
  Element Narrowed(ElementEmitter& e, size_t i, Element value) const;
  // With the initial value, if it is not in yet, and rounded to the result's type.
  absl::StatusOr<Values> Results(ElementEmitter& e, Values values) const;

 private:
  std::vector<Accumulator> list_;
};

}  // namespace shoal

// broadcast, transpose, reshape and bitcast: the same elements in another order or shape.
#include <algorithm>
#include <numeric>

#include "sharding/rules/rule.h"

namespace shoal {
namespace {

FactorRule BroadcastRule(const Instruction& instruction) {
  RuleBuilder rule(instruction);
  const auto dimensions = instruction.dimensions();
  for (int64_t d = 0; d < instruction.shape().rank(); ++d) {
    const auto it = std::find(dimensions.begin(), dimensions.end(), d);
    rule.Add({it == dimensions.end() ? -1 : it - dimensions.begin()}, {d});
  }
  return rule.Build();
}

FactorRule TransposeRule(const Instruction& instruction) {
  RuleBuilder rule(instruction);
  for (int64_t d = 0; d < instruction.shape().rank(); ++d) rule.Add({instruction.dimensions()[d]}, {d});
  return rule.Build();
}

// Walks both shapes major to minor and cuts the dimensions where both can be: [6,4] to [2,12] is
// ([ij,k]) -> [i,jk] with i=2, j=3, k=4. Where the rest of one does not divide the other's, that rest needs
// replication: [6] to [4,..] shares only gcd(6,4)=2.
FactorRule ReshapeRule(const Instruction& instruction) {
  const Shape& from = instruction.operand(0)->shape();
  const Shape& to = instruction.shape();
  RuleBuilder rule(instruction);
  if (from.ElementCount() == 0) return rule.Build();
  int64_t i = 0, j = 0;
  int64_t from_rest = from.rank() ? from.dim(0) : 1, to_rest = to.rank() ? to.dim(0) : 1;
  auto next_from = [&] { from_rest = ++i < from.rank() ? from.dim(i) : 1; };
  auto next_to = [&] { to_rest = ++j < to.rank() ? to.dim(j) : 1; };
  while (i < from.rank() || j < to.rank()) {
    if (i < from.rank() && from_rest == 1) {
      if (from.dim(i) == 1) rule.AddPart(1, {i}, {-1});
      next_from();
    } else if (j < to.rank() && to_rest == 1) {
      if (to.dim(j) == 1) rule.AddPart(1, {-1}, {j});
      next_to();
    } else {
      const int64_t shared = std::gcd(from_rest, to_rest);
      const bool clean = shared == from_rest || shared == to_rest;
      if (shared > 1) rule.AddPart(shared, {i}, {j});
      from_rest /= shared;
      to_rest /= shared;
      if (clean) continue;
      // Neither divides the other: the rest of both is one tangle, up to where their products meet again.
      rule.AddPart(from_rest, {i}, {-1}, FactorKind::kNeedReplication);
      rule.AddPart(to_rest, {-1}, {j}, FactorKind::kNeedReplication);
      int64_t a = from_rest, b = to_rest;
      next_from();
      next_to();
      while (a != b) {
        if (a < b) {
          rule.AddPart(from_rest, {i}, {-1}, FactorKind::kNeedReplication);
          a *= from_rest;
          next_from();
        } else {
          rule.AddPart(to_rest, {-1}, {j}, FactorKind::kNeedReplication);
          b *= to_rest;
          next_to();
        }
      }
    }
  }
  return rule.Build();
}

}  // namespace

FactorRule reshape_rule(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kBroadcast:
      return BroadcastRule(instruction);
    case Opcode::kTranspose:
      return TransposeRule(instruction);
    default:
      return ReshapeRule(instruction);
  }
}

}  // namespace shoal

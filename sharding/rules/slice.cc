// slice, pad, reverse, concatenate, dynamic-slice and dynamic-update-slice: dimensions that are left whole
// pass through; along the others values move, while shardings still pass.
#include "sharding/rules/rule.h"

namespace shoal {
namespace {

constexpr FactorKind kPass = FactorKind::kPassThrough;
constexpr FactorKind kMoves = FactorKind::kPermutation;

// Where sizes agree, all of the dimension is taken.
FactorRule SameSizesPass(const Instruction& instruction, const Shape& small, const Shape& large,
                         absl::Span<const int64_t> operand_mask) {
  RuleBuilder rule(instruction);
  for (int64_t d = 0; d < large.rank(); ++d) {
    std::vector<int64_t> operand_dims;
    for (int64_t has : operand_mask) operand_dims.push_back(has ? d : -1);
    rule.Add(operand_dims, {d}, small.dim(d) == large.dim(d) ? kPass : kMoves);
  }
  return rule.Build();
}

FactorRule PadRule(const Instruction& instruction) {
  const auto& pad = instruction.attributes<PadAttributes>();
  RuleBuilder rule(instruction);
  for (int64_t d = 0; d < instruction.shape().rank(); ++d) {
    const bool whole = pad.low[d] == 0 && pad.high[d] == 0 && pad.interior[d] == 0;
    rule.Add({d, -1}, {d}, whole ? kPass : kMoves);
  }
  return rule.Build();
}

FactorRule AlongDimensions(const Instruction& instruction) {
  RuleBuilder rule(instruction);
  const auto special = instruction.dimensions();
  rule.AddPointwise(instruction.shape().rank(), special);
  for (int64_t d : special) rule.Add(std::vector<int64_t>(instruction.operand_count(), d), {d}, kMoves);
  return rule.Build();
}

}  // namespace

FactorRule slice_rule(const Instruction& instruction) {
  const Shape& operand = instruction.operand(0)->shape();
  switch (instruction.opcode()) {
    case Opcode::kPad:
      return PadRule(instruction);
    case Opcode::kConcatenate:
    case Opcode::kReverse:
      return AlongDimensions(instruction);
    case Opcode::kDynamicUpdateSlice: {
      // The update passes its sharding only along dimensions that it replaces whole.
      const Shape& update = instruction.operand(1)->shape();
      RuleBuilder rule(instruction);
      for (int64_t d = 0; d < operand.rank(); ++d) {
        const bool whole = update.dim(d) == operand.dim(d);
        rule.Add({d, whole ? d : -1}, {d}, whole ? kPass : kMoves);
      }
      return rule.Build();
    }
    case Opcode::kDynamicSlice: {
      // Of a dimension that is cut each part gives what it has, and zero for the rest: a sum.
      const Shape& result = instruction.shape();
      RuleBuilder rule(instruction);
      for (int64_t d = 0; d < operand.rank(); ++d) {
        const bool whole = result.dim(d) == operand.dim(d);
        rule.Add({d}, {whole ? d : -1}, whole ? kPass : FactorKind::kReduction);
      }
      return rule.SetCombiner(Combiner::kAdd).Build();
    }
    default:  // slice
      return SameSizesPass(instruction, instruction.shape(), operand, {1});
  }
}

}  // namespace shoal

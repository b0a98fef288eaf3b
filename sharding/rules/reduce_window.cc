// Dimensions with a trivial window pass through; the others need their neighbours.
#include "sharding/rules/rule.h"

namespace shoal {
namespace {

bool IsTrivial(const WindowDimension& w) { return w == WindowDimension{}; }

}  // namespace

FactorRule reduce_window_rule(const Instruction& instruction) {
  RuleBuilder rule(instruction);
  const Window& window = instruction.attributes<WindowAttributes>().window;
  // select-and-scatter: operand, source, init -> one result like the operand.
  const bool scatters = instruction.opcode() == Opcode::kSelectAndScatter;
  const int64_t arrays = scatters ? 2 : instruction.operand_count() / 2;
  for (int64_t d = 0; d < static_cast<int64_t>(window.size()); ++d) {
    rule.Add(std::vector<int64_t>(arrays, d), std::vector<int64_t>(rule.result_leaves(), d),
             IsTrivial(window[d]) ? FactorKind::kPassThrough : FactorKind::kPermutation);
  }
  return rule.Build();
}

}  // namespace shoal

// LAPACK kernels of jaxlib work on each matrix of a batch: their leading dimensions pass through. Any other
// target needs all of its operands.
#include <algorithm>

#include "absl/strings/match.h"
#include "sharding/rules/rule.h"

namespace shoal {
namespace {

// How many leading dimensions all arrays share. An array of rank r has r-2 of them if it is a matrix; pivots
// and eigenvalues have r-1, info has r. So the shortest array's rank bounds it, and sizes must agree.
int64_t BatchRank(const Instruction& instruction) {
  std::vector<Shape> shapes;
  for (const Instruction* operand : instruction.operands()) {
    for (const Shape& leaf : operand->shape().Leaves()) shapes.push_back(leaf);
  }
  int64_t matrix_rank = 0;
  for (const Shape& shape : shapes) matrix_rank = std::max(matrix_rank, shape.rank());
  for (const Shape& leaf : instruction.shape().Leaves()) shapes.push_back(leaf);
  int64_t batch = matrix_rank - 2;
  for (const Shape& shape : shapes) batch = std::min(batch, shape.rank());
  for (const Shape& shape : shapes) {
    for (int64_t d = 0; d < batch; ++d) {
      if (shape.dim(d) != shapes[0].dim(d)) return 0;
    }
  }
  return std::max<int64_t>(batch, 0);
}

}  // namespace

FactorRule custom_call_rule(const Instruction& instruction) {
  RuleBuilder rule(instruction);
  if (instruction.opcode() == Opcode::kCustomCall &&
      absl::StartsWith(instruction.attributes<CustomCallAttributes>().target, "lapack_")) {
    for (int64_t d = 0; d < BatchRank(instruction); ++d) {
      rule.Add(std::vector<int64_t>(rule.operand_leaves(), d), std::vector<int64_t>(rule.result_leaves(), d));
    }
  }
  return rule.Build();
}

}  // namespace shoal

// What passes through a custom call: as the call's own rule says (core/hlo/user_sharding_rule.h), which JAX's
// linear algebra and custom_partitioning write; without one, the leading dimensions of jaxlib's LAPACK
// kernels, which work on each matrix of a batch. Any other target needs all of its operands.
#include <algorithm>

#include "absl/strings/match.h"
#include "core/hlo/propagation_barrier.h"
#include "core/hlo/user_sharding_rule.h"
#include "sharding/rules/custom_partitioner.h"
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

std::vector<TensorFactors> FactorsOf(const std::vector<Groups>& arrays) {
  std::vector<TensorFactors> tensors;
  for (const Groups& array : arrays) {
    TensorFactors& tensor = tensors.emplace_back();
    for (const IntVector& dim : array) tensor.emplace_back(dim.begin(), dim.end());
  }
  return tensors;
}

bool Has(const TensorFactors& tensor, int factor) {
  return std::any_of(tensor.begin(), tensor.end(), [&](const FactorList& dim) {
    return std::find(dim.begin(), dim.end(), factor) != dim.end();
  });
}

// Whether parts along the factor can be computed each on its own: every result has a part, from parts of
// operands.
bool IsIndependent(const FactorRule& rule, int factor) {
  const auto has = [&](const TensorFactors& tensor) { return Has(tensor, factor); };
  return std::all_of(rule.results.begin(), rule.results.end(), has) &&
         std::any_of(rule.operands.begin(), rule.operands.end(), has);
}

bool Fits(const std::vector<TensorFactors>& tensors, absl::Span<const Shape> shapes) {
  if (tensors.size() != shapes.size()) return false;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (static_cast<int64_t>(tensors[i].size()) != shapes[i].rank()) return false;
  }
  return true;
}

// REQUIRES: Fits. Where Shoal itself is to split the call, what is not independent stays whole: nobody says
// how partial results of a foreign function would be combined.
FactorRule FromUser(const UserShardingRule& user, bool splits_itself) {
  FactorRule rule;
  rule.operands = FactorsOf(user.operands);
  rule.results = FactorsOf(user.results);
  for (int64_t size : user.factor_sizes) rule.factors.push_back(Factor{size});
  for (int64_t factor : user.reduction) rule.factors[factor].kind = FactorKind::kReduction;
  for (int64_t factor : user.need_replication) rule.factors[factor].kind = FactorKind::kNeedReplication;
  for (int64_t factor : user.permutation) rule.factors[factor].kind = FactorKind::kPermutation;
  for (int64_t factor : user.blocked) rule.factors[factor].propagates = false;
  if (splits_itself) return rule;
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    Factor& factor = rule.factors[f];
    if (factor.kind != FactorKind::kPassThrough || !IsIndependent(rule, static_cast<int>(f))) {
      factor.kind = FactorKind::kNeedReplication;
    }
  }
  return rule;
}

}  // namespace

FactorRule custom_call_rule(const Instruction& instruction) {
  RuleBuilder builder(instruction);
  if (instruction.opcode() != Opcode::kCustomCall) return builder.Build();
  if (IsPropagationBarrier(instruction)) return builder.AddPointwise(instruction.shape().rank()).Build();
  const auto& attributes = instruction.attributes<CustomCallAttributes>();
  if (const std::optional<UserShardingRule> user = RuleOf(attributes)) {
    FactorRule rule = FromUser(*user, FindCustomPartitioner(attributes.target) != nullptr);
    std::vector<Shape> operands;
    for (const Instruction* operand : instruction.operands()) operands.push_back(operand->shape());
    if (Fits(rule.operands, operands) && Fits(rule.results, instruction.shape().Leaves())) return rule;
  }
  if (absl::StartsWith(attributes.target, "lapack_")) {
    for (int64_t d = 0; d < BatchRank(instruction); ++d) {
      builder.Add(std::vector<int64_t>(builder.operand_leaves(), d),
                  std::vector<int64_t>(builder.result_leaves(), d));
    }
  }
  return builder.Build();
}

}  // namespace shoal

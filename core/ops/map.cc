#include "core/ops/map.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/status.h"

namespace shoal {
namespace {

bool IsElementwise(const Computation& body) {
  const std::vector<Instruction*> all = body.instructions();
  return std::all_of(all.begin(), all.end(), [](const Instruction* op) {
    const bool is_input = op->opcode() == Opcode::kParameter || op->opcode() == Opcode::kConstant;
    return (is_input || FamilyOf(op->opcode()) == OpFamily::kElementwise) &&
           op->shape() == Shape::Scalar(op->shape().element_type());
  });
}

Instruction* OnArrays(HloBuilder& b, const Computation& body, absl::Span<Instruction* const> operands) {
  const Shape& shape = operands[0]->shape();
  absl::flat_hash_map<const Instruction*, Instruction*> whole;
  for (Instruction* scalar : body.instructions()) {
    std::vector<Instruction*> of;
    for (Instruction* operand : scalar->operands()) of.push_back(whole.at(operand));
    if (scalar->opcode() == Opcode::kParameter) {
      whole[scalar] = operands[static_cast<size_t>(scalar->parameter_number())];
    } else if (scalar->opcode() == Opcode::kConstant) {
      whole[scalar] = b.Broadcast(b.Constant(scalar->literal()), shape.dims(), {});
    } else {
      const Shape wanted = scalar->shape().WithDims(shape.dims());
      whole[scalar] = b.Op(scalar->opcode(), of, scalar->attributes(), {}, &wanted);
    }
  }
  return whole.at(body.root());
}

// The loop's state: how many elements are done, the results, and the operands.
absl::StatusOr<Instruction*> ByElement(HloBuilder& b, Computation& body,
                                       absl::Span<Instruction* const> operands) {
  const Shape& shape = operands[0]->shape();
  const int64_t count = shape.ElementCount();
  Instruction* results = b.Splat(body.root()->shape().WithDims({count}), 0);
  if (count == 0) return b.Reshape(results, shape.dims());
  std::vector<Instruction*> initial = {b.Scalar(ElementType::kS64, 0), results};
  for (Instruction* operand : operands) initial.push_back(b.Reshape(operand, {count}));
  Instruction* state = b.Tuple(initial);

  Module& module = *b.computation()->parent();
  HloBuilder condition(module.AddComputation("map_condition"));
  Instruction* before = condition.computation()->AddParameter(0, state->shape());
  condition.computation()->set_root(condition.Compare(ComparisonDirection::kLt,
                                                      condition.GetTupleElement(before, 0),
                                                      condition.Scalar(ElementType::kS64, count)));
  HloBuilder step(module.AddComputation("map_step"));
  Instruction* old = step.computation()->AddParameter(0, state->shape());
  std::vector<Instruction*> next, elements;
  for (size_t i = 0; i < initial.size(); ++i)
    next.push_back(step.GetTupleElement(old, static_cast<int64_t>(i)));
  Instruction* at = next[0];
  for (size_t i = 2; i < next.size(); ++i)
    elements.push_back(step.Reshape(step.DynamicSlice(next[i], {at}, {1}), {}));
  Instruction* result = step.Reshape(step.Call(&body, elements), {1});
  next[0] = step.Add(at, step.Scalar(ElementType::kS64, 1));
  next[1] = step.Op(Opcode::kDynamicUpdateSlice, {next[1], result, at});
  step.computation()->set_root(step.Tuple(next));

  SHOAL_RETURN_IF_ERROR(condition.status());
  SHOAL_RETURN_IF_ERROR(step.status());
  Computation* const regions[] = {condition.computation(), step.computation()};
  Instruction* loop = b.Op(Opcode::kWhile, {state}, {}, regions);
  return b.Reshape(b.GetTupleElement(loop, 1), shape.dims());
}

}  // namespace

absl::StatusOr<Instruction*> Map(HloBuilder& b, Computation& body, absl::Span<Instruction* const> operands) {
  Instruction* result = nullptr;
  if (IsElementwise(body)) {
    result = OnArrays(b, body, operands);
  } else {
    SHOAL_ASSIGN_OR_RETURN(result, ByElement(b, body, operands));
  }
  SHOAL_RETURN_IF_ERROR(b.status());
  return result;
}

}  // namespace shoal

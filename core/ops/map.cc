#include "core/ops/map.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/status.h"
#include "core/ops/counted_loop.h"

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

absl::StatusOr<Instruction*> ByElement(HloBuilder& b, Computation& body,
                                       absl::Span<Instruction* const> operands) {
  const Shape& shape = operands[0]->shape();
  const int64_t count = shape.ElementCount();
  // The results, then the operands.
  std::vector<Instruction*> initial = {b.Splat(body.root()->shape().WithDims({count}), 0)};
  if (count == 0) return b.Reshape(initial[0], shape.dims());
  for (Instruction* operand : operands) initial.push_back(b.Reshape(operand, {count}));
  const auto turn = [&body](HloBuilder& step, Instruction* at, std::vector<Instruction*>& state) {
    std::vector<Instruction*> elements;
    for (size_t i = 1; i < state.size(); ++i)
      elements.push_back(step.Reshape(step.DynamicSlice(state[i], {at}, {1}), {}));
    Instruction* result = step.Reshape(step.Call(&body, elements), {1});
    state[0] = step.Op(Opcode::kDynamicUpdateSlice, {state[0], result, at});
  };
  SHOAL_ASSIGN_OR_RETURN(std::vector<Instruction*> results, CountedLoop(b, "map", count, initial, turn));
  return b.Reshape(results[0], shape.dims());
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

#include "core/ops/counted_loop.h"

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace shoal {

absl::StatusOr<std::vector<Instruction*>> CountedLoop(HloBuilder& b, absl::string_view name, int64_t count,
                                                      const std::vector<Instruction*>& initial,
                                                      LoopTurn turn) {
  // The turns that are done, then the caller's values.
  std::vector<Instruction*> first = {b.Scalar(ElementType::kS64, 0)};
  first.insert(first.end(), initial.begin(), initial.end());
  Instruction* all = b.Tuple(first);
  Module& module = *b.computation()->parent();

  HloBuilder condition(module.AddComputation(absl::StrCat(name, "_condition")));
  Instruction* before = condition.computation()->AddParameter(0, all->shape());
  condition.computation()->set_root(
      condition.Compare(ComparisonDirection::kLt, condition.GetTupleElement(before, 0),
                        condition.Scalar(ElementType::kS64, static_cast<double>(count))));

  HloBuilder step(module.AddComputation(absl::StrCat(name, "_step")));
  Instruction* old = step.computation()->AddParameter(0, all->shape());
  Instruction* done = step.GetTupleElement(old, 0);
  std::vector<Instruction*> state;
  for (size_t i = 1; i < first.size(); ++i)
    state.push_back(step.GetTupleElement(old, static_cast<int64_t>(i)));
  turn(step, done, state);
  state.insert(state.begin(), step.Add(done, step.Scalar(ElementType::kS64, 1)));
  step.computation()->set_root(step.Tuple(state));

  SHOAL_RETURN_IF_ERROR(condition.status());
  SHOAL_RETURN_IF_ERROR(step.status());
  Computation* const regions[] = {condition.computation(), step.computation()};
  Instruction* loop = b.Op(Opcode::kWhile, {all}, {}, regions);
  std::vector<Instruction*> results;
  for (size_t i = 1; i < first.size(); ++i)
    results.push_back(b.GetTupleElement(loop, static_cast<int64_t>(i)));
  return results;
}

}  // namespace shoal

#include "core/passes/loop_state.h"

#include <algorithm>

#include "core/passes/dce.h"
#include "core/passes/match.h"

namespace shoal {
namespace {

// Shape, get-tuple-element indices and uses of a parameter that loses elements.
void ShrinkParameter(Computation& computation, const Shape& shape,
                     const absl::flat_hash_map<int64_t, int64_t>& moved) {
  Instruction* parameter = computation.parameter(0);
  parameter->set_shape(shape);
  parameter->clear_sharding();
  for (Instruction* user : std::vector<Instruction*>(parameter->users().begin(), parameter->users().end())) {
    if (auto it = moved.find(user->tuple_index()); it != moved.end())
      user->set_attributes(TupleIndexAttributes{it->second});
    else
      computation.Remove(user);
  }
}

ComparisonDirection Flipped(ComparisonDirection direction) {
  switch (direction) {
    case ComparisonDirection::kLt:
      return ComparisonDirection::kGt;
    case ComparisonDirection::kGt:
      return ComparisonDirection::kLt;
    case ComparisonDirection::kLe:
      return ComparisonDirection::kGe;
    case ComparisonDirection::kGe:
      return ComparisonDirection::kLe;
    default:
      return direction;
  }
}

// The value of a scalar in one of the loop's computations: a constant, or an element that starts as one and
// stays.
std::optional<int64_t> ScalarInLoop(const LoopState& state, const Instruction* value) {
  if (value->opcode() != Opcode::kGetTupleElement) return ScalarInt(value);
  const Instruction* init = state.loop->operand(0);
  const bool of_state = value->operand(0)->opcode() == Opcode::kParameter && init->opcode() == Opcode::kTuple;
  return of_state && state.IsInvariant(value->tuple_index()) ? ScalarInt(init->operand(value->tuple_index()))
                                                             : std::nullopt;
}

// By how much the body counts the element up, if by a constant.
std::optional<int64_t> StepOf(const LoopState& state, int64_t element) {
  const Instruction* next = state.next(element);
  if (next->opcode() != Opcode::kAdd) return std::nullopt;
  for (int64_t side : {0, 1}) {
    const Instruction* x = next->operand(side);
    if (x->opcode() == Opcode::kGetTupleElement && x->operand(0) == state.body->parameter(0) &&
        x->tuple_index() == element)
      return ScalarInLoop(state, next->operand(1 - side));
  }
  return std::nullopt;
}

std::optional<int64_t> Trips(ComparisonDirection direction, int64_t start, int64_t limit, int64_t step,
                             ElementType type) {
  const __int128 distance = static_cast<__int128>(limit) - start;
  const __int128 up =
      direction == ComparisonDirection::kGt || direction == ComparisonDirection::kGe ? -distance : distance;
  const int64_t stride =
      direction == ComparisonDirection::kGt || direction == ComparisonDirection::kGe ? -step : step;
  const bool inclusive = direction == ComparisonDirection::kLe || direction == ComparisonDirection::kGe;
  if (direction == ComparisonDirection::kEq || direction == ComparisonDirection::kNe) return std::nullopt;
  if (up < 0 || (up == 0 && !inclusive)) return 0;
  if (stride <= 0) return std::nullopt;
  const __int128 trips = inclusive ? up / stride + 1 : (up + stride - 1) / stride;
  // The counter must not wrap before it passes the limit.
  const __int128 last = static_cast<__int128>(start) + trips * step;
  const int bits = BitWidth(type);
  const __int128 high =
      IsSigned(type) ? (static_cast<__int128>(1) << (bits - 1)) - 1 : (static_cast<__int128>(1) << bits) - 1;
  const __int128 low = IsSigned(type) ? -high - 1 : 0;
  if (last > high || last < low || trips > (int64_t{1} << 62)) return std::nullopt;
  return static_cast<int64_t>(trips);
}

// The shardings of the kept elements, each an array.
std::vector<Sharding> KeptShardings(const Instruction& tuple, const std::vector<int64_t>& kept) {
  std::vector<Sharding> shardings;
  if (tuple.shardings().size() != tuple.shape().elements().size()) return shardings;
  for (int64_t i : kept) shardings.push_back(tuple.shardings()[i]);
  return shardings;
}

}  // namespace

absl::flat_hash_map<const Computation*, int> CallCounts(const Module& module) {
  absl::flat_hash_map<const Computation*, int> counts;
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      for (const Computation* callee : instruction->called()) ++counts[callee];
    }
  }
  return counts;
}

bool OnlyElementsUsed(const Instruction& tuple) {
  return tuple.parent()->root() != &tuple &&
         std::all_of(tuple.users().begin(), tuple.users().end(),
                     [](const Instruction* user) { return user->opcode() == Opcode::kGetTupleElement; });
}

Instruction* ElementOf(Instruction* tuple, int64_t i) {
  if (tuple->opcode() == Opcode::kTuple) return tuple->operand(i);
  for (Instruction* user : tuple->users()) {
    if (user->opcode() == Opcode::kGetTupleElement && user->tuple_index() == i) return user;
  }
  return tuple->parent()->AddGetTupleElement(tuple, i);
}

std::optional<LoopState> LoopState::Of(Instruction* loop,
                                       const absl::flat_hash_map<const Computation*, int>& call_counts) {
  if (loop->opcode() != Opcode::kWhile || !loop->shape().IsTuple()) return std::nullopt;
  LoopState state{loop, loop->called(0), loop->called(1),
                  static_cast<int64_t>(loop->shape().elements().size())};
  if (call_counts.at(state.condition) != 1 || call_counts.at(state.body) != 1) return std::nullopt;
  if (state.body->root()->opcode() != Opcode::kTuple) return std::nullopt;
  // The root itself may be a user of nothing but elements; the parameters, too.
  if (!OnlyElementsUsed(*state.condition->parameter(0)) || !OnlyElementsUsed(*state.body->parameter(0)))
    return std::nullopt;
  return state;
}

bool LoopState::IsInvariant(int64_t i) const {
  const Instruction* value = next(i);
  return value->opcode() == Opcode::kGetTupleElement && value->tuple_index() == i &&
         value->operand(0) == body->parameter(0);
}

std::optional<int64_t> TripCount(const LoopState& state) {
  const Instruction* compare = state.condition->root();
  if (compare->opcode() != Opcode::kCompare) return std::nullopt;
  ComparisonDirection direction = compare->attributes<CompareAttributes>().direction;
  const Instruction *counter = compare->operand(0), *bound = compare->operand(1);
  if (ScalarInLoop(state, counter)) {
    std::swap(counter, bound);
    direction = Flipped(direction);
  }
  const auto limit = ScalarInLoop(state, bound);
  if (!limit || counter->opcode() != Opcode::kGetTupleElement ||
      counter->operand(0) != state.condition->parameter(0))
    return std::nullopt;
  const int64_t element = counter->tuple_index();
  const Instruction* init = state.loop->operand(0);
  if (init->opcode() != Opcode::kTuple) return std::nullopt;
  const auto start = ScalarInt(init->operand(element));
  const auto step = StepOf(state, element);
  if (!start || !step || counter->shape().element_type() == ElementType::kU64) return std::nullopt;
  return Trips(direction, *start, *limit, *step, counter->shape().element_type());
}

Instruction* AppendInvariants(const LoopState& state, absl::Span<Instruction* const> values,
                              std::vector<Instruction*>& in_body) {
  std::vector<Instruction*> init,
      next(state.body->root()->operands().begin(), state.body->root()->operands().end());
  for (int64_t i = 0; i < state.size; ++i) init.push_back(ElementOf(state.loop->operand(0), i));
  init.insert(init.end(), values.begin(), values.end());
  Computation& outer = *state.loop->parent();
  Instruction* tuple = outer.AddTuple(init);
  for (Computation* computation : {state.body, state.condition}) {
    computation->parameter(0)->set_shape(tuple->shape());
    computation->parameter(0)->clear_sharding();
  }
  for (size_t k = 0; k < values.size(); ++k) {
    in_body.push_back(
        state.body->AddGetTupleElement(state.body->parameter(0), state.size + static_cast<int64_t>(k)));
    next.push_back(in_body.back());
  }
  Instruction* old_root = state.body->root();
  state.body->set_root(state.body->AddTuple(next));
  state.body->Remove(old_root);
  Instruction* loop =
      outer.Add(Opcode::kWhile, tuple->shape(), {tuple}, {}, {state.condition, state.body}, "while");
  loop->set_op_name(state.loop->op_name());
  for (Instruction* user : std::vector<Instruction*>(state.loop->users().begin(), state.loop->users().end()))
    user->ReplaceOperand(0, loop);
  outer.Remove(state.loop);
  return loop;
}

Instruction* KeepElements(const LoopState& state, const std::vector<int64_t>& kept) {
  absl::flat_hash_map<int64_t, int64_t> moved;
  std::vector<Instruction*> init, next;
  for (size_t k = 0; k < kept.size(); ++k) {
    moved[kept[k]] = static_cast<int64_t>(k);
    init.push_back(ElementOf(state.loop->operand(0), kept[k]));
    next.push_back(state.next(kept[k]));
  }
  Instruction* root = state.body->AddTuple(next);
  root->set_shardings(KeptShardings(*state.body->root(), kept));
  Instruction* old_root = state.body->root();
  state.body->set_root(root);
  state.body->Remove(old_root);
  RemoveDeadInstructions(*state.body);
  RemoveDeadInstructions(*state.condition);
  ShrinkParameter(*state.body, root->shape(), moved);
  ShrinkParameter(*state.condition, root->shape(), moved);
  Computation& outer = *state.loop->parent();
  Instruction* tuple = outer.AddTuple(init);
  Instruction* loop =
      outer.Add(Opcode::kWhile, root->shape(), {tuple}, {}, {state.condition, state.body}, "while");
  loop->set_op_name(state.loop->op_name());
  loop->set_shardings(KeptShardings(*state.loop, kept));
  for (Instruction* user :
       std::vector<Instruction*>(state.loop->users().begin(), state.loop->users().end())) {
    user->ReplaceOperand(0, loop);
    user->set_attributes(TupleIndexAttributes{moved.at(user->tuple_index())});
  }
  outer.Remove(state.loop);
  return loop;
}

}  // namespace shoal

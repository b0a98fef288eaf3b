#include "core/passes/loop_state.h"

#include <algorithm>

#include "core/passes/dce.h"

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

#include "core/memory/liveness.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace shoal {
namespace {

bool IsControl(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kWhile || instruction.opcode() == Opcode::kConditional ||
         instruction.opcode() == Opcode::kCall;
}

int64_t LeafCount(const Shape& shape) {
  return shape.IsTuple() ? static_cast<int64_t>(shape.Leaves().size()) : 1;
}

bool IsReshape(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kReshape || instruction.opcode() == Opcode::kBitcast;
}

bool OnlyCollectivesRead(const Instruction& instruction) {
  const auto is_collective = [](const Instruction* user) {
    return IsCrossDevice(user->opcode()) || (IsReshape(*user) && OnlyCollectivesRead(*user));
  };
  const auto users = instruction.users();
  return !users.empty() && instruction.parent()->root() != &instruction &&
         std::all_of(users.begin(), users.end(), is_collective);
}

void Unshare(Computation& computation, absl::flat_hash_set<Computation*>& taken) {
  for (Instruction* instruction : computation.instructions()) {
    if (!IsControl(*instruction)) continue;
    for (size_t i = 0; i < instruction->called().size(); ++i) {
      Computation* callee = instruction->called(i);
      if (!taken.insert(callee).second) {
        callee = computation.parent()->CloneComputation(*callee);
        taken.insert(callee);
        instruction->set_called(i, callee);
      }
      Unshare(*callee, taken);
    }
  }
}

}  // namespace

void UnshareControl(Module& module) {
  absl::flat_hash_set<Computation*> taken;
  Unshare(*module.entry(), taken);
}

std::optional<int64_t> PlaceInParameter(const Instruction& slice) {
  if (slice.opcode() != Opcode::kSlice || slice.shape().ElementCount() == 0) return std::nullopt;
  const Instruction* array = slice.operand(0);
  while (IsReshape(*array)) array = array->operand(0);
  const bool is_parameter =
      array->opcode() == Opcode::kParameter && array->parent() == array->parent()->parent()->entry();
  if (!is_parameter || !OnlyCollectivesRead(slice)) return std::nullopt;
  const auto& attributes = slice.attributes<SliceAttributes>();
  const Shape& whole = slice.operand(0)->shape();
  // One piece: single positions outside, whole dimensions inside, a range between them.
  int64_t place = 0;
  bool inside = false;
  for (int64_t d = 0; d < whole.rank(); ++d) {
    if (attributes.strides[d] != 1 || (inside && slice.shape().dim(d) != whole.dim(d))) return std::nullopt;
    inside = inside || slice.shape().dim(d) > 1;
    place = place * whole.dim(d) + attributes.starts[d];
  }
  return place * ByteWidth(whole.element_type());
}

bool OnlyForwards(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kTuple:
    case Opcode::kGetTupleElement:
    case Opcode::kOptimizationBarrier:
    case Opcode::kAfterAll:
    case Opcode::kParameter:
    case Opcode::kReshape:
    case Opcode::kBitcast:
    case Opcode::kCall:
      return true;
    case Opcode::kSlice:
      return PlaceInParameter(instruction).has_value();
    case Opcode::kBitcastConvert: {
      const ElementType from = instruction.operand(0)->shape().element_type();
      return BitWidth(from) >= 8 && BitWidth(from) == BitWidth(instruction.shape().element_type());
    }
    default:
      return false;
  }
}

Time Liveness::Tick(const Instruction* instruction) {
  at_.push_back(instruction);
  return static_cast<Time>(at_.size()) - 1;
}

ValueId Liveness::Make(Value::Kind kind, const Instruction* def, int64_t leaf, const Shape& shape) {
  const ValueId id(static_cast<int32_t>(values_.size()));
  const Time now = static_cast<Time>(at_.size()) - 1;
  values_.push_back({kind, def, leaf, shape.IsToken() ? 0 : shape.ByteSize(), now, now});
  alias_.push_back(id);
  return id;
}

Liveness::Leaves Liveness::MakeAll(Value::Kind kind, const Instruction* def) {
  Leaves made;
  if (!def->shape().IsTuple()) {
    made.push_back(Make(kind, def, 0, def->shape()));
    return made;
  }
  for (const Shape& shape : def->shape().Leaves()) {
    made.push_back(Make(kind, def, static_cast<int64_t>(made.size()), shape));
  }
  return made;
}

ValueId Liveness::Resolve(ValueId id) {
  ValueId root = id;
  while (alias_[root.value()] != root) root = alias_[root.value()];
  while (alias_[id.value()] != root) {
    const ValueId next = alias_[id.value()];
    alias_[id.value()] = root;
    id = next;
  }
  return root;
}

void Liveness::Use(ValueId id, Time time) {
  Value& value = values_[Resolve(id).value()];
  value.last = std::max(value.last, time);
}

absl::Span<const ValueId> Liveness::ValuesOf(const Instruction* instruction) const {
  return leaves_.at(instruction);
}

Liveness::Leaves Liveness::OperandLeaves(const Instruction* instruction) const {
  Leaves all;
  for (const Instruction* operand : instruction->operands()) {
    const Leaves& leaves = leaves_.at(operand);
    all.insert(all.end(), leaves.begin(), leaves.end());
  }
  return all;
}

std::vector<ValueId> Liveness::OperandValues(const Instruction* instruction) const {
  const Leaves leaves = OperandLeaves(instruction);
  return {leaves.begin(), leaves.end()};
}

absl::StatusOr<Liveness::Leaves> Liveness::Walk(const Computation& computation, const Leaves& parameters) {
  const ValueId* next = parameters.data();
  for (const Instruction* parameter : computation.parameters()) {
    const int64_t count = LeafCount(parameter->shape());
    leaves_[parameter] = Leaves(next, next + count);
    next += count;
  }
  for (const Instruction* instruction : computation.instructions()) {
    SHOAL_RETURN_IF_ERROR(Visit(instruction));
  }
  return leaves_.at(computation.root());
}

absl::Status Liveness::Visit(const Instruction* instruction) {
  switch (instruction->opcode()) {
    case Opcode::kParameter:
      return absl::OkStatus();  // Walk has dealt them out
    case Opcode::kTuple:
    case Opcode::kOptimizationBarrier:
    case Opcode::kReshape:
    case Opcode::kBitcast:
      leaves_[instruction] = OperandLeaves(instruction);
      return absl::OkStatus();
    case Opcode::kGetTupleElement: {
      const int64_t begin = FirstLeaf(instruction->operand(0)->shape(), instruction->tuple_index());
      const ValueId* first = leaves_.at(instruction->operand(0)).data() + begin;
      Leaves element(first, first + LeafCount(instruction->shape()));
      leaves_[instruction] = std::move(element);
      return absl::OkStatus();
    }
    case Opcode::kCall: {
      const Leaves operands = OperandLeaves(instruction);
      SHOAL_ASSIGN_OR_RETURN(Leaves roots, Walk(*instruction->called(0), operands));
      leaves_[instruction] = std::move(roots);
      return absl::OkStatus();
    }
    case Opcode::kWhile:
      return VisitLoop(instruction);
    case Opcode::kConditional:
      return VisitConditional(instruction);
    case Opcode::kManualComputation:
    case Opcode::kReshard:
    case Opcode::kShardingConstraint:
      return absl::InternalError(absl::StrCat(
          "a sharding operation reached buffer assignment: ", instruction->ToString(), "; please report"));
    default:
      break;
  }
  if (OnlyForwards(*instruction) && instruction->opcode() != Opcode::kAfterAll) {
    leaves_[instruction] = OperandLeaves(instruction);
    return absl::OkStatus();
  }
  const Time now = Tick(instruction);
  time_of_[instruction] = now;
  for (ValueId operand : OperandLeaves(instruction)) Use(operand, now);
  Value::Kind kind = Value::Kind::kOrdinary;
  if (instruction->opcode() == Opcode::kConstant) kind = Value::Kind::kConstant;
  if (instruction->opcode() == Opcode::kPartitionId) kind = Value::Kind::kPartitionId;
  if (instruction->opcode() == Opcode::kReplicaId) kind = Value::Kind::kReplicaId;
  leaves_[instruction] = MakeAll(kind, instruction);
  return absl::OkStatus();
}

absl::Status Liveness::VisitLoop(const Instruction* loop) {
  LoopLiveness info;
  info.loop = loop;
  info.enter = Tick(loop);
  time_of_[loop] = info.enter;
  const Leaves inits = OperandLeaves(loop);
  for (ValueId init : inits) Use(init, info.enter);
  Tick();
  const Leaves states = MakeAll(Value::Kind::kLoopState, loop);
  SHOAL_ASSIGN_OR_RETURN(Leaves predicate, Walk(*loop->called(0), states));
  info.predicate = Resolve(predicate[0]);
  info.check = Tick();
  Use(info.predicate, info.check);
  // The state has to survive the condition, for the loop may end there.
  for (ValueId state : states) Use(state, info.check);
  SHOAL_ASSIGN_OR_RETURN(Leaves roots, Walk(*loop->called(1), states));
  info.back = Tick();
  for (ValueId root : roots) Use(root, info.back);
  info.exit = Tick();
  Leaves results;
  const std::vector<Shape> shapes = loop->shape().Leaves();
  for (size_t i = 0; i < roots.size(); ++i) {
    LoopLeaf leaf{inits[i], states[i], Resolve(roots[i]), inits[i], Resolve(roots[i]) == states[i]};
    if (leaf.invariant) {
      const Time last = values_[states[i].value()].last;
      alias_[states[i].value()] = Resolve(inits[i]);
      Use(inits[i], std::max(last, info.back));
    } else {
      leaf.result = Make(Value::Kind::kLoopResult, loop, static_cast<int64_t>(i), shapes[i]);
    }
    results.push_back(leaf.result);
    info.leaves.push_back(leaf);
  }
  leaves_[loop] = std::move(results);
  loops_.push_back(std::move(info));
  return absl::OkStatus();
}

absl::Status Liveness::VisitConditional(const Instruction* conditional) {
  BranchLiveness info;
  info.conditional = conditional;
  const Time enter = Tick(conditional);
  time_of_[conditional] = enter;
  info.selector = ValueOf(conditional->operand(0));
  Use(info.selector, enter);
  for (size_t k = 0; k < conditional->called().size(); ++k) {
    const Leaves operands = leaves_.at(conditional->operand(static_cast<int64_t>(k) + 1));
    SHOAL_ASSIGN_OR_RETURN(Leaves roots, Walk(*conditional->called(k), operands));
    const Time end = Tick();
    for (ValueId& root : roots) {
      root = Resolve(root);
      Use(root, end);
    }
    info.ends.push_back(end);
    info.roots.emplace_back(roots.begin(), roots.end());
  }
  Tick();
  Leaves results;
  const std::vector<Shape> shapes = conditional->shape().Leaves();
  for (size_t i = 0; i < shapes.size(); ++i) {
    const ValueId first = info.roots[0][i];
    const bool same = std::all_of(info.roots.begin(), info.roots.end(),
                                  [&](const auto& roots) { return roots[i] == first; });
    results.push_back(
        same ? first : Make(Value::Kind::kBranchResult, conditional, static_cast<int64_t>(i), shapes[i]));
  }
  info.results.assign(results.begin(), results.end());
  leaves_[conditional] = std::move(results);
  branches_.push_back(std::move(info));
  return absl::OkStatus();
}

void Liveness::ResolveAll() {
  for (size_t i = 0; i < values_.size(); ++i) {
    if (alias_[i].value() != static_cast<int32_t>(i)) values_[i].bytes = 0;  // it is another value
  }
  for (auto& [instruction, leaves] : leaves_) {
    for (ValueId& id : leaves) id = Resolve(id);
  }
  for (LoopLiveness& loop : loops_) {
    loop.predicate = Resolve(loop.predicate);
    for (LoopLeaf& leaf : loop.leaves) {
      leaf = {Resolve(leaf.init), Resolve(leaf.state), Resolve(leaf.root), Resolve(leaf.result),
              leaf.invariant};
    }
  }
  for (BranchLiveness& branch : branches_) {
    branch.selector = Resolve(branch.selector);
    for (auto& roots : branch.roots) {
      for (ValueId& id : roots) id = Resolve(id);
    }
    for (ValueId& id : branch.results) id = Resolve(id);
  }
  for (ValueId& id : results_) id = Resolve(id);
}

absl::StatusOr<Liveness> Liveness::Of(const Module& module) {
  Liveness live;
  const size_t count = static_cast<size_t>(module.instruction_count());
  live.leaves_.reserve(count);
  live.time_of_.reserve(count);
  live.Tick();
  Leaves parameters;
  for (const Instruction* parameter : module.entry()->parameters()) {
    const Leaves leaves = live.MakeAll(Value::Kind::kParameter, parameter);
    parameters.insert(parameters.end(), leaves.begin(), leaves.end());
  }
  SHOAL_ASSIGN_OR_RETURN(Leaves results, live.Walk(*module.entry(), parameters));
  const Time end = live.Tick();
  for (ValueId result : results) live.Use(result, end);
  live.results_.assign(results.begin(), results.end());
  live.ResolveAll();
  return live;
}

}  // namespace shoal

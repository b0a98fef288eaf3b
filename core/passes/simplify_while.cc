#include "core/passes/simplify_while.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/passes/dce.h"
#include "core/passes/inline_calls.h"
#include "core/passes/loop_state.h"
#include "core/passes/match.h"

namespace shoal {
namespace {

// Constants up to this size are repeated in the body.
constexpr int64_t kSmallBytes = 64;
// Work on less than this is not worth an element of the state.
constexpr int64_t kWorthBytes = 1024;
// What gathers that are done once before a loop may hold through it, above what they are made of.
constexpr int64_t kMaxGatheredBytes = int64_t{64} << 20;
// Loops up to this many iterations, with this many instructions in all of them, become straight code if they
// fuse.
constexpr int64_t kMaxUnrolled = 16;
constexpr int64_t kMaxUnrolledInstructions = 512;

bool IsSmallConstant(const Instruction& value) {
  if (value.opcode() == Opcode::kConstant) return value.shape().ByteSize() <= kSmallBytes;
  return value.opcode() == Opcode::kBroadcast && value.operand(0)->shape().IsScalar() &&
         IsSmallConstant(*value.operand(0));
}

// A copy of a small constant in another computation.
Instruction* CopyConstant(const Instruction& value, Computation& into) {
  if (value.opcode() == Opcode::kConstant) return into.AddClone(value, {});
  return into.AddClone(value, {CopyConstant(*value.operand(0), into)});
}

// Whether the body is arithmetic that one kernel can hold, so that its iterations in a row fuse (as in
// threefry, five rounds of 50 operations, which as a loop goes through memory after each).
bool FusesWithItself(const Computation& body) {
  for (const Instruction* op : body.instructions()) {
    switch (FamilyOf(op->opcode())) {
      case OpFamily::kElementwise:
      case OpFamily::kConstantFamily:
      case OpFamily::kReshapeFamily:
        continue;
      case OpFamily::kTupleFamily:
        if (op->opcode() == Opcode::kOptimizationBarrier) return false;
        continue;
      default:
        if (op->opcode() != Opcode::kSlice) return false;
    }
  }
  return true;
}

// The body never runs, or once, or a few times and is small.
bool UnrollShort(const LoopState& state) {
  const auto trips = TripCount(state);
  if (!trips || *trips > kMaxUnrolled) return false;
  const bool small = *trips * state.body->instruction_count() <= kMaxUnrolledInstructions;
  if (*trips > 1 && (!small || !FusesWithItself(*state.body))) return false;
  Instruction* result = state.loop->operand(0);
  for (int64_t k = 0; k < *trips; ++k) result = InlineBody(*state.body, {result}, *state.loop->parent());
  state.loop->ReplaceAllUsesWith(result);
  state.loop->parent()->Remove(state.loop);
  return true;
}

// One at a time, with the old body gone after it: a copy shares what the body called.
bool UnrollOne(Module& module) {
  const auto call_counts = CallCounts(module);
  for (Computation* computation : module.computations()) {
    for (Instruction* instruction : computation->instructions()) {
      const auto state = LoopState::Of(instruction, call_counts);
      if (!state || !instruction->shardings().empty() || !UnrollShort(*state)) continue;
      computation->SortTopologically();
      module.RemoveUnreachableComputations();
      return true;
    }
  }
  return false;
}

// Replaces reads of element `i` of `computation`'s parameter; true if there were any.
bool ReplaceReads(Computation& computation, int64_t i, const Instruction& constant, Instruction* keep) {
  bool any = false;
  for (Instruction* read : std::vector<Instruction*>(computation.parameter(0)->users().begin(),
                                                     computation.parameter(0)->users().end())) {
    if (read->tuple_index() != i) continue;
    Instruction* copy = nullptr;
    for (Instruction* user : std::vector<Instruction*>(read->users().begin(), read->users().end())) {
      if (user == keep) continue;
      if (copy == nullptr) copy = CopyConstant(constant, computation);
      for (int64_t k = 0; k < user->operand_count(); ++k) {
        if (user->operand(k) == read) user->ReplaceOperand(k, copy);
      }
      any = true;
    }
  }
  return any;
}

// Elements that do not change: users outside read the initial value; small constants are read in the loop's
// computations themselves.
bool ReadAroundLoop(const LoopState& state) {
  bool changed = false;
  for (int64_t i = 0; i < state.size; ++i) {
    if (!state.IsInvariant(i)) continue;
    Instruction* init =
        state.loop->operand(0)->opcode() == Opcode::kTuple ? state.loop->operand(0)->operand(i) : nullptr;
    if (OnlyElementsUsed(*state.loop)) {
      for (Instruction* user :
           std::vector<Instruction*>(state.loop->users().begin(), state.loop->users().end())) {
        if (user->tuple_index() != i || (user->users().empty() && user->parent()->root() != user)) continue;
        if (init == nullptr) init = ElementOf(state.loop->operand(0), i);
        user->ReplaceAllUsesWith(init);
        changed = true;
      }
    }
    if (init == nullptr || !IsSmallConstant(*init)) continue;
    changed |= ReplaceReads(*state.body, i, *init, state.body->root());
    changed |= ReplaceReads(*state.condition, i, *init, nullptr);
  }
  return changed;
}

// Finds in a body what is computed from invariants only, and what of that is worth doing once.
class InvariantWork {
 public:
  explicit InvariantWork(const LoopState& state) : state_(state) {
    for (Instruction* instruction : state.body->instructions()) {
      if (IsInvariant(*instruction)) invariant_.insert(instruction);
    }
    for (Instruction* instruction : state.body->instructions()) {
      if (invariant_.contains(instruction) && IsWorth(*instruction)) found_.push_back(instruction);
    }
  }

  const std::vector<Instruction*>& found() const { return found_; }

  // Computes `instruction` before the loop.
  Instruction* Outside(Instruction* instruction) {
    if (auto it = outside_.find(instruction); it != outside_.end()) return it->second;
    Computation& outer = *state_.loop->parent();
    if (instruction->opcode() == Opcode::kGetTupleElement &&
        instruction->operand(0) == state_.body->parameter(0))
      return outside_[instruction] = ElementOf(state_.loop->operand(0), instruction->tuple_index());
    std::vector<Instruction*> operands;
    for (Instruction* operand : instruction->operands()) operands.push_back(Outside(operand));
    return outside_[instruction] = outer.AddClone(*instruction, operands);
  }

 private:
  bool IsInvariant(const Instruction& op) const {
    if (op.opcode() == Opcode::kParameter || op.opcode() == Opcode::kOptimizationBarrier ||
        (IsCrossDevice(op.opcode()) && !IsValueOnly(op.opcode())) || HasSideEffect(op.opcode()) ||
        FamilyOf(op.opcode()) == OpFamily::kControlFamily || !op.shardings().empty())
      return false;
    if (op.opcode() == Opcode::kGetTupleElement && op.operand(0) == state_.body->parameter(0))
      return state_.IsInvariant(op.tuple_index());
    return std::all_of(op.operands().begin(), op.operands().end(),
                       [&](const Instruction* operand) { return invariant_.contains(operand); });
  }

  // Collectives that only make a value. Every device comes to the loop that would have run its body, so all
  // do it before as they would have inside.
  static bool IsValueOnly(Opcode opcode) {
    return opcode == Opcode::kAllGather || opcode == Opcode::kAllReduce || opcode == Opcode::kReduceScatter ||
           opcode == Opcode::kAllToAll || opcode == Opcode::kCollectivePermute;
  }

  // Something that changes reads it, it takes time, and carrying it costs no more memory than what it is made
  // of; gathers may cost some.
  bool IsWorth(const Instruction& op) {
    if (!op.shape().IsArray()) return false;
    if (op.shape().ByteSize() < kWorthBytes && !IsCrossDevice(op.opcode())) return false;
    switch (op.opcode()) {
      case Opcode::kConstant:
      case Opcode::kGetTupleElement:
      case Opcode::kBroadcast:
      case Opcode::kIota:
      case Opcode::kReshape:
      case Opcode::kBitcast:
      case Opcode::kSlice:
        return false;
      default:
        break;
    }
    int64_t bytes = 0;
    for (const Instruction* operand : op.operands()) {
      const bool free = operand->opcode() == Opcode::kBroadcast || operand->opcode() == Opcode::kIota;
      if (!free) bytes += operand->shape().ByteSize();
    }
    const int64_t more = op.shape().ByteSize() - bytes;
    if (more > 0 && (op.opcode() != Opcode::kAllGather || gathered_ + more > kMaxGatheredBytes)) return false;
    const bool is_read = std::any_of(op.users().begin(), op.users().end(),
                                     [&](const Instruction* user) { return !invariant_.contains(user); });
    if (is_read && more > 0) gathered_ += more;
    return is_read;
  }

  const LoopState& state_;
  int64_t gathered_ = 0;
  absl::flat_hash_set<const Instruction*> invariant_;
  std::vector<Instruction*> found_;
  absl::flat_hash_map<const Instruction*, Instruction*> outside_;
};

bool HoistInvariantWork(const LoopState& state) {
  if (!OnlyElementsUsed(*state.loop)) return false;
  InvariantWork work(state);
  if (work.found().empty()) return false;
  std::vector<Instruction*> values, in_body;
  for (Instruction* instruction : work.found()) values.push_back(work.Outside(instruction));
  AppendInvariants(state, values, in_body);
  for (size_t k = 0; k < in_body.size(); ++k) work.found()[k]->ReplaceAllUsesWith(in_body[k]);
  state.body->SortTopologically();
  return true;
}

}  // namespace

absl::StatusOr<bool> SimplifyWhile(Module& module) {
  bool changed = false;
  while (UnrollOne(module)) changed = true;
  const auto call_counts = CallCounts(module);
  for (Computation* computation : module.computations()) {
    bool here = false;
    for (Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() != Opcode::kWhile || !instruction->shardings().empty()) continue;
      const auto state = LoopState::Of(instruction, call_counts);
      if (!state) continue;
      if (ReadAroundLoop(*state)) {
        here = true;
        state->body->SortTopologically();
        state->condition->SortTopologically();
      }
      here |= HoistInvariantWork(*state);
    }
    changed |= here;
    if (here && !computation->SortTopologically())
      return absl::InternalError(
          absl::StrCat("%", computation->name(), " has a cycle after simplifying its loops"));
  }
  if (changed) module.RemoveUnreachableComputations();
  return changed;
}

}  // namespace shoal

#include "core/passes/cse.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"

namespace shoal {
namespace {

// Operands in an order that does not depend on how a commutative operation was written.
absl::InlinedVector<const Instruction*, 3> KeyOperands(const Instruction& instruction) {
  absl::InlinedVector<const Instruction*, 3> operands(instruction.operands().begin(),
                                                      instruction.operands().end());
  if (IsCommutative(instruction.opcode()) && operands.size() == 2 && operands[1]->id() < operands[0]->id())
    std::swap(operands[0], operands[1]);
  return operands;
}

bool IsCollective(const Instruction& instruction) {
  return IsCrossDevice(instruction.opcode()) &&
         std::holds_alternative<CollectiveAttributes>(instruction.attributes());
}

// The channel only tells XLA's collectives apart.
Attributes WithoutChannel(const Instruction& collective) {
  CollectiveAttributes attributes = collective.attributes<CollectiveAttributes>();
  attributes.channel_id = 0;
  return attributes;
}

bool SameAttributes(const Instruction& a, const Instruction& b) {
  if (IsCollective(a) && IsCollective(b)) return WithoutChannel(a) == WithoutChannel(b);
  return a.attributes() == b.attributes();
}

uint64_t HashOfInstruction(const Instruction& instruction) {
  uint64_t hash = absl::HashOf(instruction.opcode(), instruction.shape());
  for (const Instruction* operand : KeyOperands(instruction)) hash = absl::HashOf(hash, operand->id());
  // Big constants: their attributes' hash reads all bytes, which is once.
  const uint64_t of_attributes =
      IsCollective(instruction) ? HashOf(WithoutChannel(instruction)) : HashOf(instruction.attributes());
  return absl::HashOf(hash, of_attributes, instruction.called().size());
}

bool SameBodies(const Computation& a, const Computation& b);

bool SameInstruction(const Instruction& a, const Instruction& b) {
  if (a.opcode() != b.opcode() || a.shape() != b.shape() || !SameAttributes(a, b) ||
      a.shardings() != b.shardings() || a.called().size() != b.called().size())
    return false;
  for (size_t i = 0; i < a.called().size(); ++i) {
    if (!SameBodies(*a.called(i), *b.called(i))) return false;
  }
  return true;
}

// Compares two computations instruction by instruction, in their order.
bool SameBodies(const Computation& a, const Computation& b) {
  if (&a == &b) return true;
  if (a.instruction_count() != b.instruction_count()) return false;
  const std::vector<Instruction*> in_a = a.instructions(), in_b = b.instructions();
  absl::flat_hash_map<const Instruction*, const Instruction*> twin;
  for (size_t i = 0; i < in_a.size(); ++i) {
    if (in_a[i]->operand_count() != in_b[i]->operand_count() || !SameInstruction(*in_a[i], *in_b[i]))
      return false;
    for (int64_t k = 0; k < in_a[i]->operand_count(); ++k) {
      if (twin.at(in_a[i]->operand(k)) != in_b[i]->operand(k)) return false;
    }
    twin[in_a[i]] = in_b[i];
  }
  return twin.at(a.root()) == b.root();
}

bool MayMerge(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  return opcode != Opcode::kParameter && opcode != Opcode::kOptimizationBarrier && opcode != Opcode::kWhile &&
         opcode != Opcode::kConditional && opcode != Opcode::kCall && opcode != Opcode::kManualComputation &&
         (!IsCrossDevice(opcode) || IsCollective(instruction)) && !HasSideEffect(opcode);
}

bool MergeIn(Computation& computation) {
  bool changed = false;
  absl::flat_hash_map<uint64_t, std::vector<Instruction*>> seen;
  for (Instruction* instruction : computation.instructions()) {
    if (!MayMerge(*instruction)) continue;
    std::vector<Instruction*>& alike = seen[HashOfInstruction(*instruction)];
    auto first = std::find_if(alike.begin(), alike.end(), [&](const Instruction* other) {
      return KeyOperands(*other) == KeyOperands(*instruction) && SameInstruction(*other, *instruction);
    });
    if (first == alike.end()) {
      alike.push_back(instruction);
      continue;
    }
    instruction->ReplaceAllUsesWith(*first);
    computation.Remove(instruction);
    changed = true;
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> EliminateCommonSubexpressions(Module& module) {
  bool changed = false;
  for (Computation* computation : module.computations()) changed |= MergeIn(*computation);
  return changed;
}

}  // namespace shoal

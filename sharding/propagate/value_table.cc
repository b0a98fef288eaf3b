#include "sharding/propagate/value_table.h"

#include <algorithm>

#include "sharding/propagate/flatten.h"

namespace shoal {

ValueTable::ValueTable(const Module& module) {
  Number(module.entry());
  for (const Computation* computation : computations_) {
    for (const Instruction* instruction : computation->instructions()) AliasAll(instruction);
  }
  // Numbers in order of first appearance.
  number_.assign(parent_.size(), -1);
  for (int id = 0; id < static_cast<int>(parent_.size()); ++id) {
    int& number = number_[Find(id)];
    if (number >= 0) continue;
    number = static_cast<int>(shapes_.size());
    shapes_.push_back(id_shapes_[id]);
  }
}

int ValueTable::AddValue(Shape shape) {
  shapes_.push_back(std::move(shape));
  return size() - 1;
}

void ValueTable::Number(Computation* computation) {
  computations_.push_back(computation);
  for (const Instruction* instruction : computation->instructions()) {
    first_[instruction] = static_cast<int>(parent_.size());
    for (const Shape& leaf : instruction->shape().Leaves()) {
      parent_.push_back(static_cast<int>(parent_.size()));
      id_shapes_.push_back(leaf);
    }
    for (Computation* callee : ProgramComputations(*instruction)) Number(callee);
  }
}

void ValueTable::Alias(const Instruction* a, int64_t a_leaf, const Instruction* b, int64_t b_leaf,
                       int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const int x = Find(first_.at(a) + static_cast<int>(a_leaf + i));
    const int y = Find(first_.at(b) + static_cast<int>(b_leaf + i));
    parent_[std::max(x, y)] = std::min(x, y);
  }
}

void ValueTable::AliasAll(const Instruction* instruction) {
  const auto leaves = [](const Instruction* i) { return static_cast<int64_t>(i->shape().Leaves().size()); };
  switch (instruction->opcode()) {
    case Opcode::kTuple: {
      int64_t leaf = 0;
      for (const Instruction* operand : instruction->operands()) {
        Alias(instruction, leaf, operand, 0, leaves(operand));
        leaf += leaves(operand);
      }
      break;
    }
    case Opcode::kGetTupleElement: {
      const Instruction* tuple = instruction->operand(0);
      Alias(instruction, 0, tuple, FirstLeaf(tuple->shape(), instruction->tuple_index()),
            leaves(instruction));
      break;
    }
    case Opcode::kOptimizationBarrier:
      Alias(instruction, 0, instruction->operand(0), 0, leaves(instruction));
      break;
    case Opcode::kWhile:
      for (const Computation* callee : instruction->called()) {
        Alias(instruction, 0, callee->parameter(0), 0, leaves(instruction));
      }
      break;
    case Opcode::kConditional:
      for (int64_t i = 0; i < static_cast<int64_t>(instruction->called().size()); ++i) {
        if (instruction->called(i)->parameters().empty()) continue;
        Alias(instruction->operand(i + 1), 0, instruction->called(i)->parameter(0), 0,
              leaves(instruction->operand(i + 1)));
      }
      break;
    default:
      break;
  }
}

}  // namespace shoal

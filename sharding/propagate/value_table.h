// ValueTable: numbers the arrays of a flattened program. Leaves that are always the same array with the same
// sharding share a number: a tuple's element and what it was made of, a loop's state outside, in the
// condition and in the body's parameter, a branch's parameter and its operand.
#pragma once

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/hlo/instruction.h"

namespace shoal {

class ValueTable {
 public:
  // REQUIRES: FlattenCalls has run. Covers the entry and every computation that ProgramComputations reaches.
  explicit ValueTable(const Module& module);

  int size() const { return static_cast<int>(shapes_.size()); }
  // The number of leaf `leaf` of the instruction's shape.
  int ValueOf(const Instruction* instruction, int64_t leaf = 0) const {
    return number_[Find(first_.at(instruction) + static_cast<int>(leaf))];
  }
  const Shape& shape(int value) const { return shapes_[value]; }
  // Every computation, callers before callees, with its instructions in order.
  const std::vector<Computation*>& computations() const { return computations_; }
  // Adds a number for an array that is no instruction's result.
  int AddValue(Shape shape);

 private:
  void Number(Computation* computation);
  void AliasAll(const Instruction* instruction);
  // Leaves [a_leaf, a_leaf+count) of a and b are the same.
  void Alias(const Instruction* a, int64_t a_leaf, const Instruction* b, int64_t b_leaf, int64_t count);
  int Find(int id) const {
    while (parent_[id] != id) id = parent_[id];
    return id;
  }

  std::vector<Computation*> computations_;
  absl::flat_hash_map<const Instruction*, int> first_;  // id of the first leaf
  std::vector<int> parent_;                             // union-find over ids
  std::vector<Shape> id_shapes_;
  std::vector<int> number_;  // of each root id
  std::vector<Shape> shapes_;
};

}  // namespace shoal

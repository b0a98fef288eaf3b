#include "core/passes/commute_reducers.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "core/ops/builder.h"

namespace shoal {
namespace {

bool IsCompare(const Instruction* op, ComparisonDirection direction, const Instruction* x,
               const Instruction* y) {
  return op->opcode() == Opcode::kCompare && op->attributes<CompareAttributes>().direction == direction &&
         op->operand(0) == x && op->operand(1) == y;
}

bool IsSelect(const Instruction* op, const Instruction* x, const Instruction* y) {
  return op->opcode() == Opcode::kSelect && op->operand(1) == x && op->operand(2) == y;
}

// The two preds of a reducer that picks the better value, the first NaN, and among equals the lower index.
struct Picks {
  Instruction* value;  // or(value > other, value is NaN)
  Instruction* index;  // or(value pick, and(value == other, index < other index))
};

bool MatchPicks(const Computation& reducer, Picks* picks) {
  if (reducer.parameters().size() != 4) return false;
  Instruction *x = reducer.parameter(0), *i = reducer.parameter(1);
  Instruction *y = reducer.parameter(2), *j = reducer.parameter(3);
  if (!IsFloat(x->shape().element_type()) || !x->shape().IsScalar()) return false;
  const Instruction* root = reducer.root();
  if (root->opcode() != Opcode::kTuple || root->operand_count() != 2) return false;
  if (!IsSelect(root->operand(0), x, y) || !IsSelect(root->operand(1), i, j)) return false;
  Instruction *value = root->operand(0)->operand(0), *index = root->operand(1)->operand(0);
  if (value->opcode() != Opcode::kOr || index->opcode() != Opcode::kOr || index->operand(0) != value)
    return false;
  const Instruction *better = value->operand(0), *ties = index->operand(1);
  if (!IsCompare(better, ComparisonDirection::kGt, x, y) &&
      !IsCompare(better, ComparisonDirection::kLt, x, y)) {
    return false;
  }
  if (!IsCompare(value->operand(1), ComparisonDirection::kNe, x, x) || ties->opcode() != Opcode::kAnd)
    return false;
  if (!IsCompare(ties->operand(0), ComparisonDirection::kEq, x, y)) return false;
  if (!IsCompare(ties->operand(1), ComparisonDirection::kLt, i, j)) return false;
  *picks = {value, index};
  return true;
}

void Commute(Computation& reducer, const Picks& picks) {
  HloBuilder b(&reducer);
  Instruction *x = reducer.parameter(0), *y = reducer.parameter(2);
  Instruction* x_is_nan = b.Compare(ComparisonDirection::kNe, x, x);
  Instruction* y_is_nan = b.Compare(ComparisonDirection::kNe, y, y);
  Instruction* y_is_number = b.Compare(ComparisonDirection::kEq, y, y);
  Instruction* value = b.Or(picks.value->operand(0), b.And(x_is_nan, y_is_number));
  const Instruction* ties = picks.index->operand(1);
  Instruction* equal = b.Or(ties->operand(0), b.And(x_is_nan, y_is_nan));
  Instruction* index = b.Or(value, b.And(equal, ties->operand(1)));
  picks.index->ReplaceAllUsesWith(index);
  picks.value->ReplaceAllUsesWith(value);
}

}  // namespace

absl::StatusOr<bool> CommuteReducers(Module& module) {
  std::vector<Computation*> reducers;
  for (Computation* computation : module.computations()) {
    for (Instruction* op : computation->instructions()) {
      if (op->opcode() == Opcode::kReduce && op->operand_count() == 4) reducers.push_back(op->called(0));
    }
  }
  bool changed = false;
  for (Computation* reducer : reducers) {
    Picks picks;
    if (!MatchPicks(*reducer, &picks)) continue;
    Commute(*reducer, picks);
    if (!reducer->SortTopologically())
      return absl::InternalError(absl::StrCat("%", reducer->name(), " has a cycle after commuting"));
    changed = true;
  }
  return changed;
}

}  // namespace shoal

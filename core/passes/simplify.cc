#include "core/passes/simplify.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/hlo/effects.h"
#include "core/passes/dce.h"
#include "core/passes/match.h"

namespace shoal {
namespace {

// Rules feed one another; a program that needs more rounds is finished by the next run of the pass.
constexpr int kMaxRounds = 12;

// op(broadcast(a), broadcast(c)) -> broadcast(op(a, c)), all of them of scalars: for every elementwise
// operation.
Instruction* ComputeOnScalars(Instruction& op, HloBuilder& b) {
  if (op.shape().IsScalar() || op.operand_count() == 0) return nullptr;
  // A scalar's bitcast to a narrower type has a dimension: that is no broadcast.
  if (op.opcode() == Opcode::kBitcastConvert && op.operand(0)->shape().dims() != op.shape().dims())
    return nullptr;
  std::vector<Instruction*> scalars;
  for (Instruction* operand : op.operands()) {
    const bool spread = operand->opcode() == Opcode::kBroadcast && operand->operand(0)->shape().IsScalar();
    if (!spread && !operand->shape().IsScalar()) return nullptr;
    scalars.push_back(spread ? operand->operand(0) : operand);
    if (operand->shape().dims() != op.shape().dims() && !operand->shape().IsScalar()) return nullptr;
  }
  const Shape scalar = Shape::Scalar(op.shape().element_type());
  return b.Broadcast(b.Op(op.opcode(), scalars, op.attributes(), {}, &scalar), op.shape().dims(), {});
}

// op(reshape(a), reshape(b), broadcast(scalar)) -> reshape(op(a, b, broadcast(scalar))), where the reshapes
// add or drop dimensions of size 1: they wander to the users and meet their opposites.
Instruction* ReshapeAfterwards(Instruction& op, HloBuilder& b) {
  const Instruction* first = nullptr;
  if (op.shape().IsScalar()) return nullptr;  // scalars are good as they are
  for (const Instruction* operand : op.operands()) {
    if (operand->opcode() != Opcode::kReshape) continue;
    if (first == nullptr) first = operand;
    if (operand->operand(0)->shape().dims() != first->operand(0)->shape().dims()) return nullptr;
  }
  if (first == nullptr || first->shape().dims() != op.shape().dims()) return nullptr;
  const DimVector dims(first->operand(0)->shape().dims().begin(), first->operand(0)->shape().dims().end());
  if (!SameWideSizes(dims, op.shape().dims())) return nullptr;
  for (const Instruction* operand : op.operands()) {
    const bool spread = operand->opcode() == Opcode::kBroadcast && operand->operand(0)->shape().IsScalar();
    const bool scalar = operand->shape().IsScalar() && operand->opcode() != Opcode::kReshape;
    if (operand->opcode() != Opcode::kReshape && !spread && !scalar) return nullptr;
    if (!scalar && operand->shape().dims() != op.shape().dims()) return nullptr;
  }
  std::vector<Instruction*> operands;
  for (Instruction* operand : op.operands()) {
    if (operand->opcode() == Opcode::kReshape) {
      operands.push_back(operand->operand(0));
    } else {
      operands.push_back(operand->opcode() == Opcode::kBroadcast ? b.Broadcast(operand->operand(0), dims, {})
                                                                 : operand);
    }
  }
  const Shape wanted = op.shape().WithDims(dims);
  return b.Reshape(b.Op(op.opcode(), operands, op.attributes(), {}, &wanted), op.shape().dims());
}

// The rows of all subjects, by opcode.
class RuleTable {
 public:
  static const RuleTable& Get() {
    static const auto* table = new RuleTable();
    return *table;
  }
  absl::Span<const SimplifyRow* const> Of(Opcode opcode) const { return rows_[static_cast<size_t>(opcode)]; }

 private:
  RuleTable() : rows_(AllOpcodes().size()) {
    for (Opcode opcode : AllOpcodes()) {
      if (FamilyOf(opcode) != OpFamily::kElementwise) continue;
      auto& rows = rows_[static_cast<size_t>(opcode)];
      rows.push_back(new SimplifyRow{opcode, "of scalars' broadcasts", ComputeOnScalars});
      rows.push_back(new SimplifyRow{opcode, "of reshapes", ReshapeAfterwards});
    }
    for (auto rules : {ElementwiseRules(), SelectRules(), ReshapeRules(), SliceRules(), ReduceRules(),
                       DotRules(), StructureRules(), CollectiveRules()}) {
      for (const SimplifyRow& row : rules) rows_[static_cast<size_t>(row.opcode)].push_back(&row);
    }
  }
  std::vector<std::vector<const SimplifyRow*>> rows_;
};

// An array without elements is a constant, whatever it is computed by: LAPACK refuses matrices of size 0, and
// no kernel need be made. An instruction with effects stays for them.
Instruction* ConstantWithoutElements(Instruction& op, HloBuilder& b) {
  if (!op.shape().IsArray() || op.shape().ElementCount() != 0) return nullptr;
  if (op.opcode() == Opcode::kConstant || op.opcode() == Opcode::kParameter) return nullptr;
  return b.Constant(Literal(op.shape()));
}

absl::StatusOr<bool> TryRules(Instruction& op, HloBuilder& b) {
  if (Instruction* empty = ConstantWithoutElements(op, b)) {
    op.ReplaceAllUsesWith(empty);
    return true;
  }
  for (const SimplifyRow* row : RuleTable::Get().Of(op.opcode())) {
    b.set_op_name(op.op_name());
    Instruction* with = row->rule(op, b);
    if (!b.status().ok()) return Annotate(b.status(), absl::StrCat(row->what, " on ", op.ToString()));
    if (with == nullptr || with == &op) continue;
    if (with->shape() != op.shape()) {
      return absl::InternalError(
          absl::StrCat(row->what, " gave ", with->shape().ToString(), " for ", op.ToString()));
    }
    SHOAL_LOG_AT(3) << row->what << ": " << op.ToString() << " becomes " << with->ToString();
    op.ReplaceAllUsesWith(with);
    // Its effects are those of what stands for it, and must not come twice.
    if (HasEffect(op) && op.users().empty()) op.parent()->Remove(&op);
    return true;
  }
  return false;
}

absl::StatusOr<bool> SimplifyComputation(Computation& computation) {
  HloBuilder b(&computation);
  bool any = false;
  for (int round = 0; round < kMaxRounds; ++round) {
    bool changed = false;
    for (Instruction* op : computation.instructions()) {
      const bool dead = op->users().empty() && op != computation.root();
      if (dead || !op->shardings().empty()) continue;
      SHOAL_ASSIGN_OR_RETURN(bool replaced, TryRules(*op, b));
      changed |= replaced;
    }
    if (!changed) break;
    any = true;
    if (!computation.SortTopologically())
      return absl::InternalError(absl::StrCat("%", computation.name(), " has a cycle"));
    RemoveDeadInstructions(computation);
  }
  return any;
}

}  // namespace

absl::StatusOr<bool> Simplify(Module& module) {
  bool changed = false;
  for (Computation* computation : module.computations()) {
    SHOAL_ASSIGN_OR_RETURN(bool here, SimplifyComputation(*computation));
    changed |= here;
  }
  return changed;
}

}  // namespace shoal

#include "core/codegen/kernel.h"

#include <algorithm>

#include "core/base/status.h"
#include "core/codegen/kernel_view.h"
#include "core/codegen/module_builder.h"
#include "core/codegen/native_call.h"
#include "core/codegen/row_fusion.h"
#include "core/codegen/row_kernel.h"

namespace shoal {
namespace {

constexpr int64_t kBiggestFusedConstant = 4096;  // bytes; a bigger one is better an operand

// Whether `op` is `leaf`, or is computed from it inside the kernel.
bool Reads(const KernelView& view, const Instruction& op, const Instruction* leaf) {
  std::vector<const Instruction*> stack = {&op};
  absl::flat_hash_set<const Instruction*> seen;
  while (!stack.empty()) {
    const Instruction* next = stack.back();
    stack.pop_back();
    if (next == leaf) return true;
    if (view.IsLeaf(next)) continue;
    for (const Instruction* operand : next->operands()) {
      if (seen.insert(operand).second) stack.push_back(operand);
    }
  }
  return false;
}

// Reads of `leaf` from `op`: true if each is at the very position that is written.
bool ReadsOnlyInPlace(const KernelView& view, const Instruction& op, const Instruction* leaf,
                      absl::flat_hash_map<const Instruction*, bool>& known) {
  if (view.IsLeaf(&op)) return true;  // the leaf itself, or one with memory of its own
  if (auto it = known.find(&op); it != known.end()) return it->second;
  const bool keeps = FamilyOf(op.opcode()) == OpFamily::kElementwise || op.opcode() == Opcode::kReshape ||
                     op.opcode() == Opcode::kBitcast || op.opcode() == Opcode::kTuple;
  bool in_place = true;
  for (const Instruction* operand : op.operands()) {
    if (operand == leaf) {
      const bool same_size = operand->shape().IsArray() && op.shape().IsArray() &&
                             operand->shape().ElementCount() == op.shape().ElementCount();
      in_place = keeps && (same_size || op.opcode() == Opcode::kTuple);
    } else {
      // What lies below an operation that moves elements must not read the leaf at all.
      in_place = keeps ? ReadsOnlyInPlace(view, *operand, leaf, known) : !Reads(view, *operand, leaf);
    }
    if (!in_place) break;
  }
  known[&op] = in_place;
  return in_place;
}

// Whether arrays of this shape hold the rows that a row fusion reduces.
bool IsRowOf(const KernelView& view, const Shape& shape) {
  bool is = false;
  view.ForEach([&](const Instruction& op) {
    is |= op.opcode() == Opcode::kReduce && op.operand(0)->shape().dims() == shape.dims();
  });
  return is;
}

const Instruction* LeafAt(const KernelView& view, int64_t buffer) {
  for (const KernelLeaf& leaf : view.leaves) {
    if (leaf.buffer == buffer && leaf.op->shape().IsArray()) return leaf.op;
  }
  return nullptr;
}

bool HasRepeatedOperand(const Instruction& op) {
  absl::flat_hash_set<const Instruction*> seen;
  for (const Instruction* operand : op.operands()) {
    if (!seen.insert(operand).second) return true;
  }
  return false;
}

double TranscendentalCost(ElementType type) {
  if (IsComplex(type)) return 20;
  return type == ElementType::kF64 ? 2.5 : 0.6;
}

}  // namespace

double Kernel::cost_ns() const {
  double sum = 0;
  for (const KernelPhase& phase : phases) sum += phase.cost_ns;
  return sum;
}

bool CanFuse(const Instruction& op) {
  switch (FamilyOf(op.opcode())) {
    case OpFamily::kElementwise:
    case OpFamily::kReshapeFamily:
    case OpFamily::kSliceFamily:
      return true;
    case OpFamily::kConstantFamily:
      return op.opcode() == Opcode::kIota || op.shape().ByteSize() <= kBiggestFusedConstant ||
             op.literal().IsSplat();
    case OpFamily::kReduceFamily:
      return true;
    default:
      break;
  }
  return op.opcode() == Opcode::kGather ||
         (op.opcode() == Opcode::kGetTupleElement && op.operand(0)->opcode() == Opcode::kReduce);
}

double ElementCostNs(const Instruction& op) {
  if (op.operand_count() == 0 || !op.operand(0)->shape().IsArray()) return 0;
  ElementType type = op.operand(0)->shape().element_type();
  double lane = ByteWidth(type) > 4 ? 0.06 : 0.03;
  switch (op.opcode()) {
    // Of the transcendental ones those that cost twice as much.
    case Opcode::kAcos:
    case Opcode::kAcosh:
    case Opcode::kAsin:
    case Opcode::kAsinh:
    case Opcode::kAtan2:
    case Opcode::kAtanh:
    case Opcode::kCbrt:
    case Opcode::kCosh:
    case Opcode::kErf:
    case Opcode::kPower:
    case Opcode::kSinh:
    case Opcode::kTan:
      return type == ElementType::kF64 ? 15 : 2 * TranscendentalCost(type);
    case Opcode::kDivide:
    case Opcode::kRsqrt:
    case Opcode::kSqrt:
      return IsInteger(type) ? 3 : 6 * lane;
    case Opcode::kRemainder:
      return 8;
    case Opcode::kGather:
      return 1;
    case Opcode::kTranspose:
      return 0.6;
    case Opcode::kConcatenate:
    case Opcode::kPad:
    case Opcode::kDynamicUpdateSlice:
      return 0.15;
    case Opcode::kReduce:
    case Opcode::kReduceWindow: {
      const Shape& inner = op.operand(0)->shape();
      const Shape outer = op.shape().IsTuple() ? op.shape().element(0) : op.shape();
      double per = static_cast<double>(inner.ElementCount()) / std::max<int64_t>(1, outer.ElementCount());
      return lane * per;
    }
    case Opcode::kBroadcast:
    case Opcode::kReshape:
    case Opcode::kBitcast:
    case Opcode::kGetTupleElement:
    case Opcode::kTuple:
      return 0;
    default:
      return IsTranscendental(op.opcode()) ? TranscendentalCost(type) : lane;
  }
}

bool MayShareBuffer(const Instruction& fusion_or_op, int64_t operand, int64_t output) {
  KernelView view(fusion_or_op);
  if (output >= static_cast<int64_t>(view.roots.size())) return false;
  const Shape& shape = view.roots[output].shape;
  const Instruction* leaf = LeafAt(view, operand);
  if (leaf == nullptr || !shape.IsArray()) return false;
  if (leaf->shape().ByteSize() != shape.ByteSize()) return false;
  Opcode opcode = view.root->opcode();
  if (opcode == Opcode::kDynamicUpdateSlice || opcode == Opcode::kScatter) {
    // What the root reads elsewhere must not change under it. (A fused update may read its own window: see
    // kernel.h.)
    bool fused_update = opcode == Opcode::kDynamicUpdateSlice && view.op != view.root;
    const auto& operands = view.root->operands();
    bool once = std::count(operands.begin(), operands.end(), leaf) == 1;
    bool only_user = view.op == view.root || leaf->users().size() == 1;
    int64_t inputs = opcode == Opcode::kScatter ? view.root->operand_count() / 2 : 1;
    return output < inputs && view.root->operand(output) == leaf && once && (only_user || fused_update);
  }
  if (ByteWidth(leaf->shape().element_type()) != ByteWidth(shape.element_type())) return false;
  // Whatever has a row fusion's own dimensions is read where it is written, and before that.
  if (NeedsRowKernel(fusion_or_op)) return leaf->shape().dims() == shape.dims() && IsRowOf(view, shape);
  if (!HeroReduces(view).empty()) return false;
  absl::flat_hash_map<const Instruction*, bool> known;
  for (const KernelRoot& root : view.roots) {
    if (!ReadsOnlyInPlace(view, *root.op, leaf, known)) return false;
  }
  return true;
}

absl::StatusOr<Kernel> EmitKernel(const Instruction& op, const std::string& name, ModuleBuilder& builder) {
  if (op.opcode() != Opcode::kFusion && HasRepeatedOperand(op)) {
    // The kernel of x * x serves a * b too: each operand is read from its own buffer.
    Module apart("apart");
    Computation* computation = apart.AddComputation("main");
    std::vector<Instruction*> operands;
    for (const Instruction* operand : op.operands()) {
      operands.push_back(computation->AddParameter(static_cast<int64_t>(operands.size()), operand->shape()));
    }
    return EmitKernel(*computation->AddClone(op, operands), name, builder);
  }
  KernelView view(op);
  IrModule& ir = builder.ir();
  if (NeedsRowKernel(op)) return EmitRowKernel(view, name, ir);
  switch (view.root->opcode()) {
    case Opcode::kSort:
    case Opcode::kTopK:
      return EmitSortKernel(view, name, ir);
    case Opcode::kDot:
      return EmitDotKernel(view, name, builder);
    case Opcode::kConvolution:
      return EmitConvolutionKernel(view, name, ir);
    case Opcode::kFft:
      return EmitFftKernel(view, name, ir);
    case Opcode::kCholesky:
    case Opcode::kTriangularSolve:
      return EmitLinalgKernel(view, name, ir);
    case Opcode::kScatter:
      return EmitScatterKernel(view, name, ir);
    case Opcode::kDynamicUpdateSlice:
      if (view.IsLeaf(view.root->operand(0))) return EmitUpdateKernel(view, name, ir);
      break;
    case Opcode::kReduceWindow:
      if (ScanDimension(*view.root).has_value()) return EmitScanKernel(view, name, ir);
      break;
    case Opcode::kRngBitGenerator:
      return EmitRngKernel(view, name, ir);
    case Opcode::kSelectAndScatter:
      return EmitSelectAndScatterKernel(view, name, ir);
    default:
      break;
  }
  for (const KernelRoot& root : view.roots) {
    if (!root.shape.IsArray()) return NoEmitter(op);
  }
  if (!HeroReduces(view).empty()) return EmitReduceKernel(view, name, ir);
  return EmitLoopKernel(view, name, ir);
}

}  // namespace shoal

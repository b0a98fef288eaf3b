#include "core/codegen/kernel_view.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "core/codegen/elementary.h"
#include "core/jit/cpu.h"
#include "llvm/IR/MDBuilder.h"

namespace shoal {

KernelView::KernelView(const Instruction& given) : op(&given) {
  if (given.opcode() == Opcode::kFusion) {
    const Computation& body = *given.called(0);
    root = body.root();
    for (const Instruction* parameter : body.parameters()) {
      leaves.push_back({parameter, operand_buffers});
      operand_buffers += static_cast<int64_t>(parameter->shape().Leaves().size());
    }
  } else {
    root = &given;
    for (const Instruction* operand : given.operands()) {
      if (!IsLeaf(operand)) leaves.push_back({operand, operand_buffers});
      operand_buffers += static_cast<int64_t>(operand->shape().Leaves().size());
    }
  }
  if (root->opcode() == Opcode::kTuple && root != op) {
    for (const Instruction* element : root->operands()) roots.push_back({element, 0, element->shape()});
  } else {
    std::vector<Shape> shapes = root->shape().Leaves();
    for (size_t i = 0; i < shapes.size(); ++i) roots.push_back({root, static_cast<int64_t>(i), shapes[i]});
  }
}

bool KernelView::IsLeaf(const Instruction* instruction) const { return LeafBuffer(instruction) >= 0; }

int64_t KernelView::LeafBuffer(const Instruction* instruction) const {
  for (const KernelLeaf& leaf : leaves) {
    if (leaf.op == instruction) return leaf.buffer;
  }
  return -1;
}

void KernelView::ForEach(absl::FunctionRef<void(const Instruction&)> visit) const {
  if (op->opcode() != Opcode::kFusion) return visit(*op);
  for (const Instruction* instruction : op->called(0)->instructions()) {
    if (instruction->opcode() != Opcode::kParameter) visit(*instruction);
  }
}

KernelFunctionEmitter::KernelFunctionEmitter(IrModule& ir, const std::string& name, int width)
    : lanes_(ir, width), elements_(lanes_) {
  llvm::LLVMContext& context = ir.context->llvm;
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  auto* type =
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, lanes_.i64(), lanes_.i64()}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, *ir.module);
  lanes_.b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
  table_ = function->getArg(0);
  begin_ = function->getArg(1);
  end_ = function->getArg(2);
}

llvm::Value* KernelFunctionEmitter::Buffer(int64_t i) {
  auto& b = lanes_.b;
  llvm::Type* pointer = b.getPtrTy();
  llvm::LoadInst* load = b.CreateLoad(pointer, b.CreateConstInBoundsGEP1_64(pointer, table_, i));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(lanes_.context(), {}));
  return load;
}

void KernelFunctionEmitter::BindLeaves(const KernelView& view) {
  llvm::MDBuilder metadata(lanes_.context());
  llvm::MDNode* domain = metadata.createAnonymousAliasScopeDomain("kernel");
  llvm::MDNode* scope = metadata.createAnonymousAliasScope(domain, "operands");
  lanes_.input_scope = llvm::MDNode::get(lanes_.context(), {scope});
  for (const KernelLeaf& leaf : view.leaves) {
    if (leaf.op->shape().IsArray()) elements_.BindMemory(leaf.op, Buffer(leaf.buffer));
  }
}

void KernelFunctionEmitter::Finish() { lanes_.b.CreateRetVoid(); }

namespace {

// Emitted once a lane: a call or a division for each.
bool IsPerLane(const Instruction& op) {
  if (op.operand_count() == 0 || !op.operand(0)->shape().IsArray()) return false;
  ElementType type = op.operand(0)->shape().element_type();
  switch (op.opcode()) {
    case Opcode::kRemainder:
      return true;
    case Opcode::kDivide:
    case Opcode::kPower:
      return IsInteger(type) || type == ElementType::kF64 || IsComplex(type);
    case Opcode::kAtan2:
    case Opcode::kTan:
    case Opcode::kCbrt:
    case Opcode::kErf:
    case Opcode::kSinh:
    case Opcode::kCosh:
    case Opcode::kAsin:
    case Opcode::kAcos:
    case Opcode::kAsinh:
    case Opcode::kAcosh:
    case Opcode::kAtanh:
      return type == ElementType::kF64 || type == ElementType::kC128;
    default:
      return false;
  }
}

int FloorPowerOfTwo(int64_t n) {
  int result = 1;
  while (2 * int64_t{result} <= n) result *= 2;
  return result;
}

}  // namespace

int ChooseWidth(const KernelView& view, int64_t extent) {
  int bytes = 1;
  bool per_lane = false;
  auto consider = [&](const Shape& shape) {
    for (const Shape& leaf : shape.Leaves()) {
      if (leaf.IsToken()) continue;
      int element = ByteWidth(RealPart(leaf.element_type()));
      if (IsNarrowFloat(leaf.element_type())) element = 4;
      bytes = std::max(bytes, leaf.IsScalar() ? 1 : element);
    }
  };
  view.ForEach([&](const Instruction& op) {
    consider(op.shape());
    per_lane |= IsPerLane(op);
  });
  for (const KernelLeaf& leaf : view.leaves) consider(leaf.op->shape());
  int width = ThisCpu().vector_bytes / std::min(std::max(bytes, 2), 8);
  if (per_lane) width = std::min(width, 4);
  // A short row is one vector, partly unused. A long one may have more elements than an int counts.
  if (extent >= width) return std::max(1, width);
  int needed = FloorPowerOfTwo(extent);
  if (needed < extent) needed *= 2;
  return std::max(1, needed);
}

double KernelCostPerElement(const KernelView& view) {
  double cost = 0.1;  // the loop itself and its stores, from cache
  view.ForEach([&](const Instruction& op) { cost += ElementCostNs(op); });
  return cost;
}

KernelPhase PhaseOf(std::string function, int64_t units, double cost_ns) {
  // A task costs the scheduler about a microsecond.
  constexpr double kTaskNs = 20000;
  const double unit_ns = units == 0 ? kTaskNs : cost_ns / static_cast<double>(units);
  KernelPhase phase;
  phase.function = std::move(function);
  phase.units = units;
  phase.grain = std::max<int64_t>(1, static_cast<int64_t>(kTaskNs / std::max(unit_ns, 0.01)));
  phase.cost_ns = cost_ns;
  return phase;
}

}  // namespace shoal

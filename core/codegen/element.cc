#include "core/codegen/element.h"

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace shoal {

absl::Status NoEmitter(const Instruction& op) {
  return absl::UnimplementedError(absl::StrCat("no code can be generated yet for ", op.ToString()));
}

llvm::Value* ElementEmitter::Memory(const Instruction* op) const {
  auto it = memory_.find(op);
  return it == memory_.end() ? nullptr : it->second;
}

std::vector<int64_t> ElementEmitter::Key(const Instruction& op, const Digits& at) const {
  std::vector<int64_t> key = {reinterpret_cast<int64_t>(&op), reinterpret_cast<int64_t>(mask_)};
  for (const Digit& digit : at) {
    key.push_back(reinterpret_cast<int64_t>(digit.index.base));
    key.push_back(reinterpret_cast<int64_t>(digit.index.lanes));
    key.push_back(digit.index.step);
    key.push_back(digit.stride);
    key.push_back(digit.extent);
  }
  return key;
}

void ElementEmitter::BindElement(const Instruction* op, const Digits& at, std::vector<Element> value) {
  memo_[Key(*op, at)] = std::move(value);
}

absl::StatusOr<Element> ElementEmitter::Emit(const Instruction& op, const Digits& at) {
  SHOAL_ASSIGN_OR_RETURN(std::vector<Element> values, EmitTuple(op, at));
  return values[0];
}

absl::StatusOr<std::vector<Element>> ElementEmitter::EmitTuple(const Instruction& op, const Digits& at) {
  std::vector<int64_t> key = Key(op, at);
  if (auto it = memo_.find(key); it != memo_.end()) return it->second;
  SHOAL_ASSIGN_OR_RETURN(std::vector<Element> values, Compute(op, at));
  memo_[key] = values;
  return values;
}

absl::StatusOr<Element> ElementEmitter::EmitMasked(const Instruction& op, const Digits& at,
                                                   llvm::Value* mask) {
  llvm::Value* outer = mask_;
  mask_ = lanes_.AndMask(outer, mask);
  absl::StatusOr<Element> value = Emit(op, at);
  mask_ = outer;
  return value;
}

absl::StatusOr<llvm::Value*> ElementEmitter::EmitScalarIndex(const Instruction& op) {
  llvm::Value* outer = mask_;  // a scalar is there whatever lanes are wanted
  mask_ = nullptr;
  absl::StatusOr<Element> value = Emit(op, {});
  mask_ = outer;
  SHOAL_RETURN_IF_ERROR(value.status());
  llvm::Value* v = value->re;
  bool is_signed = IsSigned(op.shape().element_type());
  return lanes_.b.CreateIntCast(v, lanes_.LikeLanes(v, lanes_.i64()), is_signed);
}

Element ElementEmitter::Load(const Shape& shape, llvm::Value* pointer, const Digits& at, bool is_input) {
  ElementType type = shape.element_type();
  if (shape.ElementCount() == 0) {  // only asked for under a mask that never holds
    llvm::Value* zero = llvm::Constant::getNullValue(lanes_.RegisterType(type));
    return {zero, IsComplex(type) ? zero : nullptr};
  }
  llvm::MDNode* scope = is_input ? lanes_.input_scope : nullptr;
  Index offset = index_.Linear(at);
  llvm::Type* byte = b().getInt8Ty();
  int64_t width = ByteWidth(type);
  if (!offset.IsAffine() || (offset.step != 0 && offset.step != 1)) {
    return lanes_.LoadGather(type, pointer, index_.Value(offset),
                             mask_ == nullptr ? nullptr : lanes_.Splat(mask_), scope);
  }
  llvm::Value* first = b().CreateGEP(byte, pointer, b().CreateMul(offset.base, lanes_.I64(width)));
  if (offset.step == 1 && lanes_.width() > 1) {
    return lanes_.LoadVector(type, first, mask_ == nullptr ? nullptr : lanes_.Splat(mask_), scope);
  }
  if (mask_ != nullptr) {
    llvm::Value* any = LaneBuilder::IsVector(mask_) ? b().CreateOrReduce(mask_) : mask_;
    first = b().CreateSelect(any, first, pointer);
  }
  return lanes_.LoadUniform(type, first, scope);
}

absl::StatusOr<std::vector<Element>> ElementEmitter::Compute(const Instruction& op, const Digits& at) {
  auto one = [](absl::StatusOr<Element> value) -> absl::StatusOr<std::vector<Element>> {
    SHOAL_RETURN_IF_ERROR(value.status());
    return std::vector<Element>{*value};
  };
  // A constant operand of a lone instruction is memory like any other: kernels are shared between equal
  // instructions.
  if (llvm::Value* pointer = Memory(&op); pointer != nullptr) {
    return std::vector<Element>{Load(op.shape(), pointer, at)};
  }
  switch (FamilyOf(op.opcode())) {
    case OpFamily::kElementwise:
      return one(EmitElementwise(*this, op, at));
    case OpFamily::kConstantFamily:
      return one(EmitConstantFamily(*this, op, at));
    case OpFamily::kReshapeFamily:
      return one(EmitReshapeFamily(*this, op, at));
    case OpFamily::kSliceFamily:
      return one(EmitSliceFamily(*this, op, at));
    case OpFamily::kReduceFamily:
      return EmitReduce(*this, op, at);
    case OpFamily::kReduceWindowFamily:
      return EmitReduceWindow(*this, op, at);
    case OpFamily::kDotFamily:
      return one(EmitDot(*this, op, at));
    case OpFamily::kConvolutionFamily:
      return one(EmitConvolution(*this, op, at));
    default:
      break;
  }
  if (op.opcode() == Opcode::kGather) return one(EmitGather(*this, op, at));
  if (op.opcode() == Opcode::kOptimizationBarrier) return EmitTuple(*op.operand(0), at);
  if (op.opcode() == Opcode::kGetTupleElement) {
    SHOAL_ASSIGN_OR_RETURN(std::vector<Element> all, EmitTuple(*op.operand(0), at));
    return std::vector<Element>{all[op.tuple_index()]};
  }
  if (op.opcode() == Opcode::kTuple) {
    std::vector<Element> all;
    for (const Instruction* operand : op.operands()) {
      SHOAL_ASSIGN_OR_RETURN(Element value, Emit(*operand, at));
      all.push_back(value);
    }
    return all;
  }
  if (op.opcode() == Opcode::kCall && op.shape().Leaves().size() > 0 && at.empty()) {
    std::vector<Element> arguments;
    for (const Instruction* operand : op.operands()) {
      SHOAL_ASSIGN_OR_RETURN(Element value, Emit(*operand, at));
      arguments.push_back(value);
    }
    return EmitRegion(*op.called(0), arguments);
  }
  return NoEmitter(op);
}

absl::StatusOr<std::vector<Element>> ElementEmitter::EmitRegion(const Computation& region,
                                                                absl::Span<const Element> arguments) {
  ElementEmitter inner(lanes_);
  for (size_t i = 0; i < arguments.size(); ++i) {
    inner.BindElement(region.parameter(static_cast<int64_t>(i)), {}, {arguments[i]});
  }
  return inner.EmitTuple(*region.root(), {});
}

absl::StatusOr<Carried> EmitLoopCarrying(
    LaneBuilder& lanes, llvm::Value* begin, llvm::Value* end, int64_t step, Carried initial,
    absl::FunctionRef<absl::StatusOr<Carried>(llvm::Value*, const Carried&)> body) {
  auto& b = lanes.b;
  auto* first = llvm::dyn_cast<llvm::ConstantInt>(begin);
  auto* last = llvm::dyn_cast<llvm::ConstantInt>(end);
  bool known = first != nullptr && last != nullptr;
  if (known && first->getSExtValue() >= last->getSExtValue()) return initial;
  if (known && first->getSExtValue() + step >= last->getSExtValue()) return body(begin, initial);

  llvm::Function* in = b.GetInsertBlock()->getParent();
  llvm::BasicBlock* before = b.GetInsertBlock();
  auto* loop = llvm::BasicBlock::Create(lanes.context(), "loop", in);
  auto* done = llvm::BasicBlock::Create(lanes.context(), "done", in);
  if (known) {
    b.CreateBr(loop);
  } else {
    b.CreateCondBr(b.CreateICmpSLT(begin, end), loop, done);
  }
  b.SetInsertPoint(loop);
  llvm::PHINode* i = b.CreatePHI(lanes.i64(), 2, "i");
  i->addIncoming(begin, before);
  Carried current;
  for (llvm::Value* value : initial) {
    llvm::PHINode* phi = b.CreatePHI(value->getType(), 2);
    phi->addIncoming(value, before);
    current.push_back(phi);
  }
  SHOAL_ASSIGN_OR_RETURN(Carried next, body(i, current));
  llvm::Value* advanced = b.CreateNSWAdd(i, lanes.I64(step));
  llvm::BasicBlock* latch = b.GetInsertBlock();
  b.CreateCondBr(b.CreateICmpSLT(advanced, end), loop, done);
  i->addIncoming(advanced, latch);
  for (size_t k = 0; k < current.size(); ++k) {
    llvm::cast<llvm::PHINode>(current[k])->addIncoming(next[k], latch);
  }
  b.SetInsertPoint(done);
  Carried result;
  for (size_t k = 0; k < current.size(); ++k) {
    llvm::PHINode* phi = b.CreatePHI(next[k]->getType(), 2);
    phi->addIncoming(next[k], latch);
    if (!known) phi->addIncoming(initial[k], before);
    result.push_back(phi);
  }
  return result;
}

absl::Status EmitLoop(LaneBuilder& lanes, llvm::Value* begin, llvm::Value* end, int64_t step,
                      absl::FunctionRef<absl::Status(llvm::Value*)> body) {
  return EmitLoopCarrying(lanes, begin, end, step, {},
                          [&](llvm::Value* i, const Carried&) -> absl::StatusOr<Carried> {
                            SHOAL_RETURN_IF_ERROR(body(i));
                            return Carried{};
                          })
      .status();
}

absl::Status EmitIf(LaneBuilder& lanes, llvm::Value* condition, absl::FunctionRef<absl::Status()> body) {
  auto& b = lanes.b;
  llvm::Function* in = b.GetInsertBlock()->getParent();
  auto* then = llvm::BasicBlock::Create(lanes.context(), "then", in);
  auto* done = llvm::BasicBlock::Create(lanes.context(), "done", in);
  b.CreateCondBr(condition, then, done);
  b.SetInsertPoint(then);
  SHOAL_RETURN_IF_ERROR(body());
  b.CreateBr(done);
  b.SetInsertPoint(done);
  return absl::OkStatus();
}

Carried Flatten(absl::Span<const Element> elements) {
  Carried values;
  for (const Element& element : elements) {
    values.push_back(element.re);
    if (element.im != nullptr) values.push_back(element.im);
  }
  return values;
}

std::vector<Element> Unflatten(const Carried& values, absl::Span<const Element> like) {
  std::vector<Element> elements;
  size_t k = 0;
  for (const Element& element : like) {
    Element e;
    e.re = values[k++];
    if (element.im != nullptr) e.im = values[k++];
    elements.push_back(e);
  }
  return elements;
}

}  // namespace shoal

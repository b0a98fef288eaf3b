#include "core/codegen/elementary.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/jit/cpu.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Intrinsics.h"

namespace shoal {
namespace {

// Copies one scalar function of one block into `lanes`, every value widened to the arguments' lanes.
class Widener {
 public:
  Widener(LaneBuilder& lanes, const llvm::Function& function, absl::Span<llvm::Value* const> arguments)
      : lanes_(lanes), function_(function) {
    vector_ = false;
    for (llvm::Value* argument : arguments) vector_ |= LaneBuilder::IsVector(argument);
    for (size_t i = 0; i < arguments.size(); ++i) {
      values_[function.getArg(i)] = vector_ ? lanes.Splat(arguments[i]) : arguments[i];
    }
  }

  absl::StatusOr<llvm::Value*> Run() {
    if (function_.size() != 1) return Problem("has a branch");
    for (const llvm::Instruction& instruction : function_.front()) {
      if (llvm::isa<llvm::ReturnInst>(instruction)) return Operand(instruction.getOperand(0));
      SHOAL_ASSIGN_OR_RETURN(llvm::Value * value, Widen(instruction));
      values_[&instruction] = value;
    }
    return Problem("has no return");
  }

 private:
  absl::Status Problem(absl::string_view what) {
    return absl::InternalError(absl::StrCat(
        "elementary function ", absl::string_view(function_.getName().data(), function_.getName().size()),
        " cannot be widened: it ", what));
  }

  llvm::Type* Wide(llvm::Type* type) {
    return vector_ ? llvm::FixedVectorType::get(type, lanes_.width()) : type;
  }

  llvm::Value* Operand(const llvm::Value* operand) {
    if (auto it = values_.find(operand); it != values_.end()) return it->second;
    auto* constant = const_cast<llvm::Constant*>(llvm::cast<llvm::Constant>(operand));
    if (!vector_) return constant;
    return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(lanes_.width()), constant);
  }

  absl::StatusOr<llvm::Value*> Widen(const llvm::Instruction& instruction) {
    auto& b = lanes_.b;
    if (auto* op = llvm::dyn_cast<llvm::BinaryOperator>(&instruction)) {
      return b.CreateBinOp(op->getOpcode(), Operand(op->getOperand(0)), Operand(op->getOperand(1)));
    }
    if (auto* op = llvm::dyn_cast<llvm::UnaryOperator>(&instruction)) {
      return b.CreateUnOp(op->getOpcode(), Operand(op->getOperand(0)));
    }
    if (auto* op = llvm::dyn_cast<llvm::CmpInst>(&instruction)) {
      return b.CreateCmp(op->getPredicate(), Operand(op->getOperand(0)), Operand(op->getOperand(1)));
    }
    if (auto* op = llvm::dyn_cast<llvm::CastInst>(&instruction)) {
      return b.CreateCast(op->getOpcode(), Operand(op->getOperand(0)), Wide(op->getType()));
    }
    if (auto* op = llvm::dyn_cast<llvm::SelectInst>(&instruction)) {
      return b.CreateSelect(Operand(op->getCondition()), Operand(op->getTrueValue()),
                            Operand(op->getFalseValue()));
    }
    if (auto* op = llvm::dyn_cast<llvm::FreezeInst>(&instruction)) {
      return b.CreateFreeze(Operand(op->getOperand(0)));
    }
    if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) return WidenIntrinsic(*call);
    return Problem(absl::StrCat("has an instruction ", instruction.getOpcodeName()));
  }

  // All intrinsics that clang uses here are overloaded on the type of their result or of their first
  // argument.
  absl::StatusOr<llvm::Value*> WidenIntrinsic(const llvm::IntrinsicInst& call) {
    llvm::SmallVector<llvm::Value*, 4> arguments;
    llvm::Intrinsic::ID id = call.getIntrinsicID();
    for (unsigned i = 0; i < call.arg_size(); ++i) {
      bool immediate = call.paramHasAttr(i, llvm::Attribute::ImmArg);
      arguments.push_back(immediate ? call.getArgOperand(i) : Operand(call.getArgOperand(i)));
    }
    if (id == llvm::Intrinsic::fma && !ThisCpu().has_fma) {  // a library call a lane otherwise
      return lanes_.b.CreateFAdd(lanes_.b.CreateFMul(arguments[0], arguments[1]), arguments[2]);
    }
    llvm::Type* overload = Wide(call.getArgOperand(0)->getType());
    llvm::Function* callee = llvm::Intrinsic::getDeclaration(lanes_.ir().module.get(), id, {overload});
    return lanes_.b.CreateCall(callee, arguments);
  }

  LaneBuilder& lanes_;
  const llvm::Function& function_;
  bool vector_ = false;
  absl::flat_hash_map<const llvm::Value*, llvm::Value*> values_;
};

absl::string_view Suffix(llvm::Value* value) {
  return value->getType()->getScalarType()->isFloatTy() ? "_f32" : "_f64";
}

// The C library's name: "exp" or "expf".
std::string LibraryName(absl::string_view function, llvm::Value* argument) {
  return absl::StrCat(function, argument->getType()->getScalarType()->isFloatTy() ? "f" : "");
}

// `fast` but for the lanes of `slow`, whose value comes from the C library. The usual case is one test and
// branch.
llvm::Value* WithSlowLanes(LaneBuilder& lanes, absl::string_view function, llvm::Value* x, llvm::Value* fast,
                           llvm::Value* slow) {
  auto& b = lanes.b;
  llvm::BasicBlock* from = b.GetInsertBlock();
  llvm::Function* in = from->getParent();
  auto* slow_block = llvm::BasicBlock::Create(lanes.context(), "slow", in);
  auto* done = llvm::BasicBlock::Create(lanes.context(), "done", in);
  llvm::Value* any = LaneBuilder::IsVector(slow) ? b.CreateOrReduce(slow) : slow;
  b.CreateCondBr(any, slow_block, done);
  b.SetInsertPoint(slow_block);
  llvm::Value* all = lanes.CallPerLane(LibraryName(function, x), x->getType()->getScalarType(), {x});
  llvm::Value* fixed = lanes.Select(slow, all, fast);
  llvm::BasicBlock* slow_end = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(done);
  llvm::PHINode* result = b.CreatePHI(fast->getType(), 2);
  result->addIncoming(fast, from);
  result->addIncoming(fixed, slow_end);
  return result;
}

}  // namespace

absl::StatusOr<llvm::Value*> InlineElementary(LaneBuilder& lanes, absl::string_view name,
                                              absl::Span<llvm::Value* const> arguments) {
  llvm::Function* function = ElementaryFunction(lanes.ir(), name);
  if (function == nullptr) return absl::InternalError(absl::StrCat("no elementary function ", name));
  return Widener(lanes, *function, arguments).Run();
}

absl::StatusOr<llvm::Value*> EmitElementary(LaneBuilder& lanes, absl::string_view function,
                                            absl::Span<llvm::Value* const> arguments) {
  absl::string_view suffix = Suffix(arguments[0]);
  std::string name = absl::StrCat(function, suffix);
  if (ElementaryFunction(lanes.ir(), name) == nullptr) {
    return lanes.CallPerLane(LibraryName(function, arguments[0]), arguments[0]->getType()->getScalarType(),
                             arguments);
  }
  SHOAL_ASSIGN_OR_RETURN(llvm::Value * fast, InlineElementary(lanes, name, arguments));
  std::string slow_name = absl::StrCat(function, "_slow", suffix);
  if (ElementaryFunction(lanes.ir(), slow_name) == nullptr) return fast;
  SHOAL_ASSIGN_OR_RETURN(llvm::Value * slow, InlineElementary(lanes, slow_name, arguments));
  return WithSlowLanes(lanes, function, arguments[0], fast, slow);
}

}  // namespace shoal

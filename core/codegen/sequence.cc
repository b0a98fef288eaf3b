#include "core/codegen/sequence.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/codegen/element.h"
#include "core/codegen/module_builder.h"

namespace shoal {
namespace {

class SequenceEmitter {
 public:
  SequenceEmitter(IrModule& ir, const std::string& name, std::vector<const Routine*>& routines)
      : lanes_(ir, 1), routines_(routines) {
    llvm::LLVMContext& context = lanes_.context();
    auto& b = lanes_.b;
    auto* type = llvm::FunctionType::get(lanes_.i64(), {b.getPtrTy(), b.getPtrTy()}, false);
    function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, *ir.module);
    entry_ = llvm::BasicBlock::Create(context, "entry", function_);
    auto* start = llvm::BasicBlock::Create(context, "start", function_);
    stopped_ = llvm::BasicBlock::Create(context, "stopped", function_);
    b.SetInsertPoint(stopped_);
    answer_ = b.CreatePHI(lanes_.i64(), 4);
    b.CreateRet(answer_);
    b.SetInsertPoint(start);
    start_ = start;
  }

  absl::Status Emit(const SequenceBlock& steps) {
    SHOAL_RETURN_IF_ERROR(EmitBlock(steps));
    auto& b = lanes_.b;
    b.CreateRet(lanes_.I64(0));
    b.SetInsertPoint(entry_);
    b.CreateBr(start_);
    if (answer_->getNumIncomingValues() == 0) {  // nothing can fail
      answer_->replaceAllUsesWith(lanes_.I64(0));
      stopped_->eraseFromParent();
    }
    return absl::OkStatus();
  }

 private:
  absl::Status EmitBlock(const SequenceBlock& steps) {
    for (const SequenceStep& step : steps) {
      SHOAL_RETURN_IF_ERROR(std::visit([&](const auto& s) { return EmitStep(s); }, step.step));
    }
    return absl::OkStatus();
  }

  // Emits into the entry block, which dominates everything.
  template <typename F>
  llvm::Value* InEntry(F make) {
    llvm::IRBuilderBase::InsertPointGuard guard(lanes_.b);
    lanes_.b.SetInsertPoint(entry_);
    return make();
  }

  llvm::Value* Pointer(const BufferRef& ref) {
    auto& b = lanes_.b;
    llvm::Value*& base = bases_[ref.base];
    if (base == nullptr) {
      base = InEntry([&] {
        return b.CreateLoad(b.getPtrTy(),
                            b.CreateConstInBoundsGEP1_64(b.getPtrTy(), function_->getArg(0), ref.base));
      });
    }
    return ref.offset == 0 ? base : b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), base, ref.offset);
  }

  // Each call has a table of its own: a loop finds it filled, since nothing in it changes.
  llvm::Value* Table(absl::Span<const BufferRef> buffers) {
    auto& b = lanes_.b;
    int64_t count = std::max<int64_t>(1, static_cast<int64_t>(buffers.size()));
    return InEntry([&] {
      llvm::Value* table = b.CreateAlloca(llvm::ArrayType::get(b.getPtrTy(), count));
      for (size_t i = 0; i < buffers.size(); ++i) {
        llvm::Value* pointer = Pointer(buffers[i]);
        b.CreateStore(pointer, b.CreateConstInBoundsGEP1_64(b.getPtrTy(), table, i));
      }
      return table;
    });
  }

  // Calls the runtime's function number `field`.
  llvm::CallInst* CallRuntime(int field, llvm::Type* result, llvm::ArrayRef<llvm::Value*> arguments) {
    auto& b = lanes_.b;
    llvm::SmallVector<llvm::Value*, 6> all = {function_->getArg(1)};
    all.append(arguments.begin(), arguments.end());
    llvm::SmallVector<llvm::Type*, 6> types;
    for (llvm::Value* argument : all) types.push_back(argument->getType());
    llvm::Value* slot = b.CreateConstInBoundsGEP1_64(b.getPtrTy(), function_->getArg(1), field);
    llvm::Value* callee = b.CreateLoad(b.getPtrTy(), slot);
    return b.CreateCall(llvm::FunctionType::get(result, types, false), callee, all);
  }

  // Leaves the sequence with `code` unless it is 0.
  void StopUnlessZero(llvm::Value* code) {
    auto& b = lanes_.b;
    auto* go_on = llvm::BasicBlock::Create(lanes_.context(), "go_on", function_);
    llvm::BasicBlock* from = b.GetInsertBlock();
    b.CreateCondBr(b.CreateICmpEQ(code, lanes_.I64(0)), go_on, stopped_);
    answer_->addIncoming(code, from);
    b.SetInsertPoint(go_on);
  }

  absl::Status EmitStep(const KernelCall& call) {
    auto& b = lanes_.b;
    llvm::Value* table = Table(call.buffers);
    for (const KernelPhase& phase : call.kernel->phases) {
      if (phase.routine != nullptr) {
        llvm::Value* index = lanes_.I64(static_cast<int64_t>(routines_.size()));
        routines_.push_back(phase.routine.get());
        StopUnlessZero(CallRuntime(1, lanes_.i64(), {index, table}));
        continue;
      }
      if (phase.units == 0) continue;
      llvm::Function* callee = lanes_.ir().module->getFunction(phase.function);
      if (callee == nullptr) {  // it is in code that is loaded before this
        auto* type =
            llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), lanes_.i64(), lanes_.i64()}, false);
        callee = llvm::Function::Create(type, llvm::Function::ExternalLinkage, phase.function,
                                        *lanes_.ir().module);
      }
      if (phase.units > 1 && phase.cost_ns > kParallelNs) {
        CallRuntime(0, b.getVoidTy(), {callee, table, lanes_.I64(phase.units), lanes_.I64(phase.grain)});
      } else {
        b.CreateCall(callee, {table, lanes_.I64(0), lanes_.I64(phase.units)});
      }
    }
    return absl::OkStatus();
  }

  absl::Status EmitStep(const CopyBytes& copy) {
    bool same = copy.from.base == copy.to.base && copy.from.offset == copy.to.offset;
    if (same || copy.bytes == 0) return absl::OkStatus();
    lanes_.b.CreateMemMove(Pointer(copy.to), llvm::MaybeAlign(1), Pointer(copy.from), llvm::MaybeAlign(1),
                           copy.bytes);
    return absl::OkStatus();
  }

  absl::Status EmitStep(const WhileLoop& loop) {
    auto& b = lanes_.b;
    auto* head = llvm::BasicBlock::Create(lanes_.context(), "while", function_);
    auto* body = llvm::BasicBlock::Create(lanes_.context(), "body", function_);
    auto* done = llvm::BasicBlock::Create(lanes_.context(), "done", function_);
    b.CreateBr(head);
    b.SetInsertPoint(head);
    StopUnlessZero(CallRuntime(2, lanes_.i64(), {}));
    SHOAL_RETURN_IF_ERROR(EmitBlock(loop.condition));
    llvm::Value* predicate = b.CreateLoad(b.getInt8Ty(), Pointer(loop.predicate));
    b.CreateCondBr(b.CreateICmpNE(predicate, b.getInt8(0)), body, done);
    b.SetInsertPoint(body);
    SHOAL_RETURN_IF_ERROR(EmitBlock(loop.body));
    b.CreateBr(head);
    b.SetInsertPoint(done);
    return absl::OkStatus();
  }

  absl::Status EmitStep(const CountedLoop& loop) {
    return EmitLoop(lanes_, lanes_.I64(0), lanes_.I64(loop.trips), 1, [&](llvm::Value*) {
      StopUnlessZero(CallRuntime(2, lanes_.i64(), {}));
      return EmitBlock(loop.body);
    });
  }

  absl::Status EmitStep(const Branch& branch) {
    auto& b = lanes_.b;
    llvm::Type* type = branch.is_pred ? static_cast<llvm::Type*>(b.getInt8Ty()) : b.getInt32Ty();
    llvm::Value* index = b.CreateLoad(type, Pointer(branch.index));
    if (branch.is_pred) index = b.CreateZExt(b.CreateICmpEQ(index, b.getInt8(0)), b.getInt32Ty());
    auto* done = llvm::BasicBlock::Create(lanes_.context(), "done", function_);
    std::vector<llvm::BasicBlock*> blocks;
    for (size_t i = 0; i < branch.branches.size(); ++i) {
      blocks.push_back(llvm::BasicBlock::Create(lanes_.context(), "branch", function_));
    }
    if (blocks.empty()) return absl::InternalError("a conditional without branches");
    llvm::SwitchInst* choose = b.CreateSwitch(index, blocks.back());
    for (size_t i = 0; i + 1 < blocks.size(); ++i)
      choose->addCase(b.getInt32(static_cast<uint32_t>(i)), blocks[i]);
    for (size_t i = 0; i < blocks.size(); ++i) {
      b.SetInsertPoint(blocks[i]);
      SHOAL_RETURN_IF_ERROR(EmitBlock(branch.branches[i]));
      b.CreateBr(done);
    }
    b.SetInsertPoint(done);
    return absl::OkStatus();
  }

  LaneBuilder lanes_;
  std::vector<const Routine*>& routines_;
  llvm::Function* function_ = nullptr;
  llvm::BasicBlock *entry_ = nullptr, *start_ = nullptr, *stopped_ = nullptr;
  llvm::PHINode* answer_ = nullptr;
  absl::flat_hash_map<int32_t, llvm::Value*> bases_;
};

}  // namespace

absl::Status EmitSequence(const std::string& name, const SequenceBlock& steps, ModuleBuilder& builder,
                          std::vector<const Routine*>& routines) {
  return SequenceEmitter(builder.ir(), name, routines).Emit(steps);
}

}  // namespace shoal

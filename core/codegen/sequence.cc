#include "core/codegen/sequence.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/codegen/module_builder.h"
#include "core/jit/ir_module.h"
#include "llvm/IR/IRBuilder.h"

namespace shoal {
namespace {

// Work worth more than this goes to several workers; waking them costs a few microseconds.
constexpr double kParallelNs = 20000;
// Places of the fields of SequenceRuntime, counted in pointers.
constexpr int kParallelForField = 0, kRunRoutineField = 1, kShouldStopField = 2;

class SequenceEmitter {
 public:
  SequenceEmitter(const std::string& name, ModuleBuilder& builder, std::vector<const Routine*>& routines)
      : module_(*builder.ir().module),
        context_(module_.getContext()),
        routines_(routines),
        i64_(llvm::Type::getInt64Ty(context_)),
        pointer_(llvm::PointerType::getUnqual(context_)),
        b_(context_) {
    auto* type = llvm::FunctionType::get(i64_, {pointer_, pointer_}, false);
    function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module_);
    function_->setDoesNotThrow();
    bases_ = function_->getArg(0);
    runtime_ = function_->getArg(1);
    entry_ = llvm::BasicBlock::Create(context_, "entry", function_);
    b_.SetInsertPoint(llvm::BasicBlock::Create(context_, "body", function_));
    exit_ = llvm::BasicBlock::Create(context_, "exit", function_);
  }

  absl::Status EmitAll(const SequenceBlock& steps) {
    for (const SequenceStep& step : steps) {
      SHOAL_RETURN_IF_ERROR(std::visit([this](const auto& of_kind) { return Emit(of_kind); }, step.step));
    }
    return absl::OkStatus();
  }

  // REQUIRES: everything is emitted.
  void Finish() {
    llvm::BasicBlock* last = b_.GetInsertBlock();
    AddExit(b_.getInt64(0), last);
    b_.CreateBr(exit_);
    // The entry holds the table, which is as big as the biggest kernel's.
    b_.SetInsertPoint(entry_);
    if (table_uses_.empty()) {
      b_.CreateBr(entry_->getNextNode());
    } else {
      llvm::Value* table = b_.CreateAlloca(pointer_, b_.getInt64(table_size_), "table");
      for (llvm::Instruction* use : table_uses_) {
        use->replaceAllUsesWith(table);
        use->eraseFromParent();
      }
      b_.CreateBr(entry_->getNextNode());
    }
    b_.SetInsertPoint(exit_);
    llvm::PHINode* result = b_.CreatePHI(i64_, exits_.size());
    for (auto& [value, from] : exits_) result->addIncoming(value, from);
    b_.CreateRet(result);
  }

 private:
  void AddExit(llvm::Value* value, llvm::BasicBlock* from) { exits_.emplace_back(value, from); }

  llvm::BasicBlock* NewBlock(const char* name) {
    return llvm::BasicBlock::Create(context_, name, function_, exit_);
  }

  llvm::Value* Address(const BufferRef& ref) {
    llvm::Value* slot = b_.CreateConstInBoundsGEP1_64(pointer_, bases_, ref.base);
    llvm::Value* base = b_.CreateLoad(pointer_, slot);
    return ref.offset == 0 ? base : b_.CreateConstGEP1_64(b_.getInt8Ty(), base, ref.offset);
  }

  llvm::Value* RuntimeFunction(int field) {
    return b_.CreateLoad(pointer_, b_.CreateConstInBoundsGEP1_64(pointer_, runtime_, field));
  }

  // Leaves the sequence if `code` is not 0.
  void ExitIfNot0(llvm::Value* code) {
    llvm::BasicBlock* next = NewBlock("next");
    AddExit(code, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpNE(code, b_.getInt64(0)), exit_, next);
    b_.SetInsertPoint(next);
  }

  // Stores the buffers of a call into the table.
  llvm::Value* FillTable(const std::vector<BufferRef>& buffers) {
    // Stands for the table, whose size is known in the end only.
    auto* table =
        llvm::cast<llvm::Instruction>(b_.Insert(new llvm::FreezeInst(llvm::PoisonValue::get(pointer_))));
    table_uses_.push_back(table);
    table_size_ = std::max(table_size_, static_cast<int64_t>(buffers.size()));
    for (size_t i = 0; i < buffers.size(); ++i) {
      b_.CreateStore(Address(buffers[i]),
                     b_.CreateConstInBoundsGEP1_64(pointer_, table, static_cast<int64_t>(i)));
    }
    return table;
  }

  absl::Status Emit(const KernelCall& call) {
    if (call.kernel->phases.empty()) return absl::OkStatus();
    llvm::Value* table = FillTable(call.buffers);
    for (const KernelPhase& phase : call.kernel->phases) {
      if (phase.routine != nullptr) {
        EmitRoutine(phase, table);
      } else if (phase.units > 0) {
        SHOAL_RETURN_IF_ERROR(EmitNative(phase, table));
      }
    }
    return absl::OkStatus();
  }

  void EmitRoutine(const KernelPhase& phase, llvm::Value* table) {
    auto* type = llvm::FunctionType::get(i64_, {pointer_, i64_, pointer_}, false);
    llvm::Value* index = b_.getInt64(routines_.size());
    routines_.push_back(phase.routine.get());
    ExitIfNot0(b_.CreateCall(type, RuntimeFunction(kRunRoutineField), {runtime_, index, table}));
  }

  absl::Status EmitNative(const KernelPhase& phase, llvm::Value* table) {
    llvm::Function* kernel = module_.getFunction(phase.function);
    if (kernel == nullptr) {
      return absl::InternalError(absl::StrCat("kernel function ", phase.function, " is not in the module"));
    }
    if (phase.cost_ns <= kParallelNs || phase.units <= phase.grain) {
      b_.CreateCall(kernel, {table, b_.getInt64(0), b_.getInt64(phase.units)});
      return absl::OkStatus();
    }
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {pointer_, pointer_, pointer_, i64_, i64_}, false);
    b_.CreateCall(type, RuntimeFunction(kParallelForField),
                  {runtime_, kernel, table, b_.getInt64(phase.units), b_.getInt64(phase.grain)});
    return absl::OkStatus();
  }

  absl::Status Emit(const CopyBytes& copy) {
    const bool same = copy.from.base == copy.to.base && copy.from.offset == copy.to.offset;
    if (copy.bytes == 0 || same) return absl::OkStatus();
    b_.CreateMemCpy(Address(copy.to), llvm::MaybeAlign(1), Address(copy.from), llvm::MaybeAlign(1),
                    copy.bytes);
    return absl::OkStatus();
  }

  void StopIfAsked() {
    auto* type = llvm::FunctionType::get(i64_, {pointer_}, false);
    ExitIfNot0(b_.CreateCall(type, RuntimeFunction(kShouldStopField), {runtime_}));
  }

  absl::Status Emit(const WhileLoop& loop) {
    llvm::BasicBlock* head = NewBlock("while");
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    StopIfAsked();
    SHOAL_RETURN_IF_ERROR(EmitAll(loop.condition));
    llvm::Value* goes_on = b_.CreateLoad(b_.getInt8Ty(), Address(loop.predicate));
    llvm::BasicBlock* body = NewBlock("do");
    llvm::BasicBlock* done = NewBlock("done");
    b_.CreateCondBr(b_.CreateICmpNE(goes_on, b_.getInt8(0)), body, done);
    b_.SetInsertPoint(body);
    SHOAL_RETURN_IF_ERROR(EmitAll(loop.body));
    b_.CreateBr(head);
    b_.SetInsertPoint(done);
    return absl::OkStatus();
  }

  absl::Status Emit(const CountedLoop& loop) {
    if (loop.trips <= 0) return absl::OkStatus();
    llvm::BasicBlock* before = b_.GetInsertBlock();
    llvm::BasicBlock* body = NewBlock("repeat");
    b_.CreateBr(body);
    b_.SetInsertPoint(body);
    llvm::PHINode* trip = b_.CreatePHI(i64_, 2);
    trip->addIncoming(b_.getInt64(0), before);
    StopIfAsked();
    SHOAL_RETURN_IF_ERROR(EmitAll(loop.body));
    llvm::Value* next = b_.CreateAdd(trip, b_.getInt64(1));
    trip->addIncoming(next, b_.GetInsertBlock());
    llvm::BasicBlock* done = NewBlock("done");
    b_.CreateCondBr(b_.CreateICmpSLT(next, b_.getInt64(loop.trips)), body, done);
    b_.SetInsertPoint(done);
    return absl::OkStatus();
  }

  absl::Status Emit(const Branch& branch) {
    const uint32_t count = static_cast<uint32_t>(branch.branches.size());
    llvm::Value* index;
    if (branch.is_pred) {
      llvm::Value* pred = b_.CreateLoad(b_.getInt8Ty(), Address(branch.index));
      index = b_.CreateSelect(b_.CreateICmpNE(pred, b_.getInt8(0)), b_.getInt32(0), b_.getInt32(1));
    } else {
      index = b_.CreateLoad(b_.getInt32Ty(), Address(branch.index));
    }
    std::vector<llvm::BasicBlock*> blocks;
    for (uint32_t i = 0; i < count; ++i) blocks.push_back(NewBlock("branch"));
    llvm::BasicBlock* done = NewBlock("join");
    llvm::SwitchInst* jump = b_.CreateSwitch(index, blocks.back(), count);
    for (uint32_t i = 0; i + 1 < count; ++i) jump->addCase(b_.getInt32(i), blocks[i]);
    for (uint32_t i = 0; i < count; ++i) {
      b_.SetInsertPoint(blocks[i]);
      SHOAL_RETURN_IF_ERROR(EmitAll(branch.branches[i]));
      b_.CreateBr(done);
    }
    b_.SetInsertPoint(done);
    return absl::OkStatus();
  }

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  std::vector<const Routine*>& routines_;
  llvm::Type* i64_;
  llvm::PointerType* pointer_;
  llvm::IRBuilder<> b_;
  llvm::Function* function_ = nullptr;
  llvm::Value* bases_ = nullptr;
  llvm::Value* runtime_ = nullptr;
  llvm::BasicBlock* entry_ = nullptr;
  llvm::BasicBlock* exit_ = nullptr;
  std::vector<std::pair<llvm::Value*, llvm::BasicBlock*>> exits_;
  std::vector<llvm::Instruction*> table_uses_;
  int64_t table_size_ = 0;
};

}  // namespace

absl::Status EmitSequence(const std::string& name, const SequenceBlock& steps, ModuleBuilder& builder,
                          std::vector<const Routine*>& routines) {
  SequenceEmitter emitter(name, builder, routines);
  SHOAL_RETURN_IF_ERROR(emitter.EmitAll(steps));
  emitter.Finish();
  return absl::OkStatus();
}

}  // namespace shoal

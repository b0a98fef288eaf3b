#include "core/codegen/native_call.h"

#include <utility>

#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"

namespace shoal {

void AppendNativeCall(const std::string& symbol, absl::Span<const int64_t> words, KernelPhase phase,
                      IrModule& ir, Kernel& kernel) {
  llvm::LLVMContext& context = ir.context->llvm;
  llvm::Type *pointer = llvm::PointerType::getUnqual(context), *i64 = llvm::Type::getInt64Ty(context);
  llvm::Type* none = llvm::Type::getVoidTy(context);
  auto* type = llvm::FunctionType::get(none, {pointer, i64, i64}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, phase.function, *ir.module);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", function));
  llvm::Constant* data =
      llvm::ConstantDataArray::get(context, llvm::ArrayRef<int64_t>(words.data(), words.size()));
  auto* constant = new llvm::GlobalVariable(
      *ir.module, data->getType(), true, llvm::GlobalValue::InternalLinkage, data, phase.function + ".words");
  llvm::FunctionCallee callee = ir.module->getOrInsertFunction(symbol, none, pointer, pointer, i64, i64);
  b.CreateCall(callee, {constant, function->getArg(0), function->getArg(1), function->getArg(2)});
  b.CreateRetVoid();
  kernel.phases.push_back(std::move(phase));
}

}  // namespace shoal

#include "core/jit/optimize.h"

#include <memory>
#include <mutex>
#include <optional>

#include "absl/strings/str_cat.h"
#include "core/jit/cpu.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"

namespace shoal {
namespace {

std::unique_ptr<llvm::TargetMachine> NewTargetMachine(CodeEffort effort) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  std::string triple = llvm::sys::getProcessTriple();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (target == nullptr) return nullptr;
  llvm::TargetOptions options;
  // Values never change by the optimiser's choice: a product and a sum fuse only where we emit llvm.fma.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  const bool quick = effort == CodeEffort::kQuick;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, ThisCpu().name, ThisCpu().features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
      quick ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default, /*JIT=*/true));
  // It knows few vector operations and would hand them to the usual selector one by one.
  if (machine != nullptr) machine->setFastISel(false);
  return machine;
}

// The way to object code, set up once: that takes LLVM longer (0.6 ms) than many a kernel.
class Emitter {
 public:
  explicit Emitter(CodeEffort effort) : machine_(NewTargetMachine(effort)), out_(object_) {
    if (machine_ == nullptr) return;
    ready_ = !machine_->addPassesToEmitFile(passes_, out_, nullptr, llvm::CodeGenFileType::ObjectFile,
                                            /*DisableVerify=*/true);
  }

  static Emitter& OfThread(CodeEffort effort) {
    thread_local Emitter quick(CodeEffort::kQuick), full(CodeEffort::kFull);
    return effort == CodeEffort::kQuick ? quick : full;
  }

  llvm::TargetMachine* machine() { return machine_.get(); }

  absl::StatusOr<std::string> Emit(llvm::Module& module) {
    if (!ready_) return absl::InternalError("LLVM cannot write object code for this CPU");
    passes_.run(module);
    std::string object(object_.begin(), object_.end());
    object_.clear();
    return object;
  }

 private:
  std::unique_ptr<llvm::TargetMachine> machine_;  // outlives the passes
  llvm::SmallVector<char, 0> object_;
  llvm::raw_svector_ostream out_;
  llvm::legacy::PassManager passes_;
  bool ready_ = false;
};

void SetFunctionAttributes(llvm::Module& module) {
  // The subtarget is the target machine's; only the register width is said here, or LLVM's tuning for the CPU
  // decides.
  std::string width = absl::StrCat(ThisCpu().vector_bytes * 8);
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("prefer-vector-width", width);
    function.addFnAttr("min-legal-vector-width", width);
    function.setDoesNotThrow();
  }
}

}  // namespace

llvm::TargetMachine* ThreadTargetMachine(CodeEffort effort) { return Emitter::OfThread(effort).machine(); }

void Optimize(llvm::Module& module, llvm::TargetMachine& target) {
  module.setDataLayout(target.createDataLayout());
  module.setTargetTriple(target.getTargetTriple().str());
  SetFunctionAttributes(module);

  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&target);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);

  // core/codegen emits vector code in SSA form with its loops rotated; what is left to do is to share index
  // arithmetic and loads, and to move what does not change out of the loops.
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(
      llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), /*UseMemorySSA=*/true));
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) passes.run(function, functions);
  }
}

absl::StatusOr<std::string> EmitObject(llvm::Module& module, CodeEffort effort) {
  return Emitter::OfThread(effort).Emit(module);
}

}  // namespace shoal

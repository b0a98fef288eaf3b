#include "core/jit/ir_module.h"

#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/jit/jit.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Support/MemoryBuffer.h"

extern "C" const char shoal_elementary_begin[];
extern "C" const char shoal_elementary_end[];

namespace shoal {
namespace {

// LLVM contexts only ever grow (types and constants are never freed), so each serves this many modules.
constexpr int kModulesPerContext = 256;
constexpr size_t kPooledContexts = 8;

struct ContextPool {
  absl::Mutex mutex;
  std::vector<std::unique_ptr<IrContext>> idle ABSL_GUARDED_BY(mutex);
};

ContextPool& Pool() {
  static ContextPool* pool = new ContextPool;  // never destroyed: threads may still compile at exit
  return *pool;
}

std::unique_ptr<IrContext> TakeContext() {
  ContextPool& pool = Pool();
  absl::MutexLock lock(&pool.mutex);
  if (pool.idle.empty()) return std::make_unique<IrContext>();
  std::unique_ptr<IrContext> context = std::move(pool.idle.back());
  pool.idle.pop_back();
  return context;
}

void GiveBack(std::unique_ptr<IrContext> context) {
  if (++context->uses >= kModulesPerContext) return;
  ContextPool& pool = Pool();
  absl::MutexLock lock(&pool.mutex);
  if (pool.idle.size() < kPooledContexts) pool.idle.push_back(std::move(context));
}

}  // namespace

IrModule::IrModule(absl::string_view name) : context(TakeContext()) {
  module = std::make_unique<llvm::Module>(llvm::StringRef(name.data(), name.size()), context->llvm);
}

IrModule::~IrModule() {
  module.reset();
  if (context != nullptr) GiveBack(std::move(context));
}

llvm::Function* ElementaryFunction(IrModule& module, absl::string_view name) {
  std::unique_ptr<llvm::Module>& library = module.context->elementary;
  if (library == nullptr) {
    llvm::MemoryBufferRef bytes(
        llvm::StringRef(shoal_elementary_begin, shoal_elementary_end - shoal_elementary_begin), "elementary");
    auto read = llvm::getLazyBitcodeModule(bytes, module.context->llvm);
    if (!read) {
      llvm::consumeError(read.takeError());
      return nullptr;
    }
    library = std::move(*read);
  }
  llvm::Function* function = library->getFunction(llvm::StringRef(name.data(), name.size()));
  if (function == nullptr) return nullptr;
  if (llvm::Error error = function->materialize()) {
    llvm::consumeError(std::move(error));
    return nullptr;
  }
  return function;
}

}  // namespace shoal

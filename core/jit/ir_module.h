// IrModule: an LLVM module with the context that owns its types. For core/jit and core/codegen only: includes
// LLVM.
//
// Contexts are pooled: a context that has read the elementary functions is handed to the next module when
// this one is gone. A module and its context belong to one thread at a time.
#pragma once

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace shoal {

struct IrContext {
  llvm::LLVMContext llvm;
  std::unique_ptr<llvm::Module> elementary;  // read with the first function; bodies when asked for
  int uses = 0;
};

struct IrModule {
  std::unique_ptr<IrContext> context;
  std::unique_ptr<llvm::Module> module;

  explicit IrModule(absl::string_view name);
  ~IrModule();  // the context goes back to the pool
  IrModule(const IrModule&) = delete;
};

// The scalar elementary function `name` ("exp_f32") of elementary/, with its body, or null. It lives in a
// module of its own in the same context: to be copied instruction by instruction, not called.
llvm::Function* ElementaryFunction(IrModule& module, absl::string_view name);

}  // namespace shoal

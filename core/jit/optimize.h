// The optimisation pipeline and the way from IR to object code. For core/jit only: includes LLVM.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "core/jit/jit.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace shoal {

// A target machine of this thread for ThisCpu(), made once a thread and effort. Null if LLVM was built
// without this CPU's back end.
llvm::TargetMachine* ThreadTargetMachine(CodeEffort effort);

// Sets data layout, triple and the CPU attributes of every function, and runs the passes.
void Optimize(llvm::Module& module, llvm::TargetMachine& target);

absl::StatusOr<std::string> EmitObject(llvm::Module& module, CodeEffort effort);

}  // namespace shoal

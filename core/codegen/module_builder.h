// ModuleBuilder: the LLVM module into which kernels and sequences are emitted, then compiled as a whole.
//
// One module for a program (or for a slice of a big one, to compile slices on several threads). Not
// thread-safe; use one from one thread at a time.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/jit/jit.h"

namespace shoal {

class ModuleBuilder {
 public:
  explicit ModuleBuilder(const std::string& name);
  ~ModuleBuilder();
  ModuleBuilder(ModuleBuilder&&);

  // Optimises and compiles what was emitted to object code, which Jit::Load takes (here or, through a cache,
  // elsewhere on the same kind of CPU) together with RuntimeSymbols().
  absl::StatusOr<std::string> Compile(const Jit& jit, CodeEffort effort = CodeEffort::kFull) &&;

  IrModule& ir() { return *ir_; }

 private:
  std::unique_ptr<IrModule> ir_;
};

// The C functions that generated code may call: libm for rare functions, memory moves, sort loops.
absl::Span<const RuntimeSymbol> RuntimeSymbols();

}  // namespace shoal

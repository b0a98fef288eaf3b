// Jit: an LLVM module in, native functions of this process out.
//
// Two halves, so that a cache or another process can stand between them: Compile makes object code for the
// CPU found at run time, Load links object code into the process. Both are thread-safe. The optimisation
// pipeline is our own and short, for core/codegen emits vector code that is nearly final; small programs
// compile in a millisecond or two.
//
// No header but those of core/jit and core/codegen may include LLVM; this one only declares.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace shoal {

struct IrModule;  // core/jit/ir_module.h

// A function of this process that object code may refer to by name.
struct RuntimeSymbol {
  absl::string_view name;
  const void* address;
};

// How long LLVM may look for good machine code. Measured on x + x of 21 floats: quick takes a third of the
// time (0.7 ms against 2.0), and its code twice to five times as long to run. The values are the same.
enum class CodeEffort : uint8_t { kQuick, kFull };

// Linked code. Functions are valid as long as it lives; it must not outlive its Jit.
class NativeCode {
 public:
  virtual ~NativeCode() = default;
  // Null if the module defined no such function.
  virtual void* Find(absl::string_view function) const = 0;
  // What it was loaded from.
  virtual const std::string& object() const = 0;
};

class Jit {
 public:
  static absl::StatusOr<std::unique_ptr<Jit>> Create();
  ~Jit();
  Jit(const Jit&) = delete;

  // Internal if LLVM's verifier finds the module wrong. A function without a body in the module has to be
  // among the symbols given to Load.
  absl::StatusOr<std::string> Compile(std::unique_ptr<IrModule> module,
                                      CodeEffort effort = CodeEffort::kFull) const;
  // NotFound naming the symbols that neither `symbols` nor the object itself defines.
  absl::StatusOr<std::shared_ptr<const NativeCode>> Load(std::string object,
                                                         absl::Span<const RuntimeSymbol> symbols);

 private:
  struct Impl;
  explicit Jit(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace shoal

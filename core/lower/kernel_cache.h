// KernelCache: the native code of this process by what it computes, shared between its programs.
//
// A kernel's key (kernels.h) says everything that its code depends on, so whoever asks for a key again gets
// the code that is there: a program compiles only the kernels that no program before it had. What is missing
// is dealt out into a few LLVM modules, which are emitted, compiled and linked in parallel. Loops and
// branches are functions over kernels and are kept in the same way.
//
// Code stays as long as a program or the cache holds it; each time `most_code_bytes` of new code have come
// in, the cache drops what no program holds. Thread-safe; two programs that miss a kernel at the same time
// both compile it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "core/codegen/kernel.h"
#include "core/codegen/sequence.h"
#include "core/hlo/instruction.h"
#include "core/jit/jit.h"

namespace shoal {

struct LoadedKernel {
  std::string key;
  Kernel kernel;                           // with the addresses of its phases
  std::shared_ptr<const NativeCode> code;  // keeps these; shared by all that were compiled together
};
using KernelHandle = std::shared_ptr<const LoadedKernel>;

// One loop or branch and all that is in it.
struct LoadedControl {
  std::string key;
  SequenceFunction function = nullptr;
  std::vector<const Routine*> routines;  // by the index that the function uses
  std::shared_ptr<const NativeCode> code;
  std::vector<KernelHandle> kernels;  // that it calls
};
using ControlHandle = std::shared_ptr<const LoadedControl>;

// What one program uses.
struct ProgramCode {
  std::vector<KernelHandle> kernels;
  std::vector<ControlHandle> controls;
  int64_t bytes() const;  // of machine code, including what was compiled together with it
};

struct KernelRequest {
  std::string key;  // KernelKey
  const Instruction* instruction;
  CodeEffort effort = CodeEffort::kFull;
};
struct ControlRequest {
  std::string key;  // ControlKey(steps)
  SequenceBlock steps;
};

class KernelCache {
 public:
  explicit KernelCache(std::unique_ptr<Jit> jit, int64_t most_code_bytes = int64_t{64} << 20)
      : jit_(std::move(jit)), most_code_bytes_(most_code_bytes) {}

  // One a request, in order. REQUIRES: keys differ.
  absl::StatusOr<std::vector<KernelHandle>> Kernels(absl::Span<const KernelRequest> requests);
  // The same for loops and branches, whose kernels are among `kernels`.
  absl::StatusOr<std::vector<ControlHandle>> Controls(absl::Span<const ControlRequest> requests,
                                                      absl::Span<const KernelHandle> kernels);

  // Code that was compiled elsewhere: an object file, and what is in it. Kernels without addresses go in,
  // loaded ones come out, in order. Nothing is loaded if the cache has all of it.
  absl::StatusOr<std::vector<KernelHandle>> InsertKernels(std::string object,
                                                          std::vector<std::shared_ptr<LoadedKernel>> kernels);
  absl::Status InsertControls(std::string object, absl::Span<const std::string> keys,
                              absl::Span<const KernelHandle> kernels);

  // How many of the requests would have to be compiled.
  int64_t CountMissing(absl::Span<const KernelRequest> requests) const;
  int64_t compiled_kernels() const;  // since the start

 private:
  // Puts in what is not there; the answer is what is there after that.
  std::vector<KernelHandle> Keep(std::vector<std::shared_ptr<LoadedKernel>> kernels);
  std::vector<ControlHandle> Keep(std::vector<std::shared_ptr<LoadedControl>> controls);
  void MakeRoom(int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::unique_ptr<Jit> jit_;  // outlives the code
  const int64_t most_code_bytes_;
  mutable absl::Mutex mutex_;
  // The keys lie in the handles.
  absl::flat_hash_map<absl::string_view, KernelHandle> kernels_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<absl::string_view, ControlHandle> controls_ ABSL_GUARDED_BY(mutex_);
  int64_t code_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // that came in since something was dropped
  int64_t compiled_kernels_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The name of the code for `key` in object files: the same in every process.
std::string SymbolOf(absl::string_view prefix, absl::string_view key);

// A text that two control steps share exactly if one function does for both.
std::string ControlKey(const SequenceBlock& steps);

}  // namespace shoal

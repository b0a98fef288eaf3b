// KernelTable: the native kernels of a scheduled module, each distinct one emitted once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "core/codegen/kernel.h"
#include "core/codegen/module_builder.h"
#include "core/hlo/instruction.h"

namespace shoal {

// How an instruction becomes part of a plan.
enum class LoweringKind : uint8_t { kForward, kKernel, kLoop, kConditional, kCall, kCollective, kCustomCall };
LoweringKind LoweringKindOf(const Instruction& instruction);

// Whether everything in `computation` is native: no collectives, no custom calls, also not in what it calls.
bool IsNative(const Computation& computation);

class KernelTable {
 public:
  // Emits a kernel for every instruction that needs one in every computation that control flow reaches from
  // the entry.
  static absl::StatusOr<KernelTable> Emit(const Module& module, ModuleBuilder& builder);

  // Null if the instruction has no kernel.
  const Kernel* Find(const Instruction* instruction) const;
  // The library routines that the kernels use.
  std::vector<std::shared_ptr<const Routine>> Routines() const;
  int64_t size() const { return static_cast<int64_t>(kernels_.size()); }

 private:
  absl::Status EmitAll(const Computation& computation, ModuleBuilder& builder);

  std::vector<std::unique_ptr<Kernel>> kernels_;
  absl::flat_hash_map<std::string, const Kernel*> by_key_;
  absl::flat_hash_map<const Instruction*, const Kernel*> by_instruction_;
};

// A text that two instructions share exactly if one kernel does for both: operation, attributes, shapes and
// the computations that they call, but no names.
std::string KernelKey(const Instruction& instruction);

}  // namespace shoal

// KernelTable: the native kernels of a scheduled module, each distinct one once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "core/codegen/kernel.h"
#include "core/hlo/instruction.h"
#include "core/lower/kernel_cache.h"
#include "core/lower/share_code.h"

namespace shoal {

// How an instruction becomes part of a plan.
enum class LoweringKind : uint8_t { kForward, kKernel, kLoop, kConditional, kCall, kCollective, kCustomCall };
LoweringKind LoweringKindOf(const Instruction& instruction);

// Whether everything in `computation` is native: no collectives, no custom calls, also not in what it calls.
bool IsNative(const Computation& computation);

class KernelTable {
 public:
  // Gets a kernel for every instruction that needs one in every computation that control flow reaches from
  // the entry. `program` and `peers` are CompileTogether's.
  static absl::StatusOr<KernelTable> Make(const Module& module, uint64_t program, const CodePeers& peers,
                                          KernelCache& cache);

  // Null if the instruction has no kernel.
  const Kernel* Find(const Instruction* instruction) const;
  // Each once.
  absl::Span<const KernelHandle> kernels() const { return kernels_; }

 private:
  void Collect(const Computation& computation, bool in_loop, std::vector<KernelRequest>& requests);

  std::vector<KernelHandle> kernels_;
  absl::flat_hash_map<std::string, int> by_key_;  // positions in kernels_
  absl::flat_hash_map<const Instruction*, int> by_instruction_;
};

// A text that two instructions share exactly if one kernel does for both: effort, operation, attributes,
// shapes, constants and the computations that they call, but no names. The same in every process.
std::string KernelKey(const Instruction& instruction, CodeEffort effort);

}  // namespace shoal

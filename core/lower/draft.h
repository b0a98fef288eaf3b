// Draft: a plan before its native code is compiled. Steps exist only once their functions do, so the draft
// keeps a maker for each.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/codegen/module_builder.h"
#include "core/codegen/sequence.h"
#include "core/lower/kernels.h"
#include "core/memory/assignment.h"
#include "core/runtime/plan.h"

namespace shoal {

// Finds the native function of that name in the loaded code.
using FunctionFinder = std::function<absl::StatusOr<SequenceFunction>(const std::string&)>;
using StepMaker = std::function<absl::StatusOr<std::unique_ptr<Step>>(const FunctionFinder&)>;
using PlanDraft = std::vector<StepMaker>;

absl::StatusOr<Plan> MakePlan(const PlanDraft& draft, const FunctionFinder& find);

// A straight run of native work that grows.
struct NativeBlock {
  SequenceBlock steps;
  std::vector<SliceUse> uses;
  double cost_ns = 0;
};

// Drafts the plans of a module's computations, emitting the native sequences into `builder` on the way.
class Drafter {
 public:
  Drafter(const KernelTable& kernels, const BufferAssignment& buffers, uint64_t fingerprint,
          ModuleBuilder& builder)
      : kernels_(kernels), buffers_(buffers), fingerprint_(fingerprint), builder_(builder) {}

  absl::StatusOr<PlanDraft> DraftEntry(const Computation& entry);
  int64_t collective_count() const { return collective_count_; }

 private:
  struct Open;  // a plan under construction
  absl::Status AddAll(const Computation& computation, Open& open);
  absl::Status Add(const Instruction* instruction, Open& open);
  absl::Status AddCollective(const Instruction* instruction, Open& open);
  absl::Status AddCustomCall(const Instruction* instruction, Open& open);
  absl::Status AddLoopStep(const Instruction* loop, Open& open);
  absl::Status AddConditionalStep(const Instruction* conditional, Open& open);
  absl::StatusOr<PlanDraft> DraftPart(const Computation& computation,
                                      const std::vector<SliceCopy>& copies_at_end);
  absl::Status Flush(Open& open);
  int LevelOf(const Instruction* instruction, const Open& open) const;
  void SetLevel(const Instruction* instruction, int level, Open& open) const;

  // Native work: everything below `computation` goes into `block`.
  void AppendAll(const Computation& computation, NativeBlock& block) const;
  void Append(const Instruction* instruction, NativeBlock& block) const;
  void AppendKernel(const Instruction* instruction, NativeBlock& block) const;
  void AppendLoop(const Instruction* loop, NativeBlock& block) const;
  void AppendConditional(const Instruction* conditional, NativeBlock& block) const;
  static void AppendCopies(const std::vector<SliceCopy>& copies, NativeBlock& block);
  // What a block inside another one uses counts for the outer one.
  static SequenceBlock Nest(NativeBlock inner, double times, NativeBlock& outer);

  const KernelTable& kernels_;
  const BufferAssignment& buffers_;
  const uint64_t fingerprint_;
  ModuleBuilder& builder_;
  int64_t collective_count_ = 0;
  int64_t sequence_count_ = 0;
};

}  // namespace shoal

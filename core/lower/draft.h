// Draft: a plan before the code of its loops and branches is compiled. Steps exist only once their functions
// do, so the draft keeps a maker for each.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/codegen/sequence.h"
#include "core/lower/kernel_cache.h"
#include "core/lower/kernels.h"
#include "core/lower/token_order.h"
#include "core/memory/assignment.h"
#include "core/runtime/plan.h"

namespace shoal {

// Code of a draft's loops and branches, in the order of its control requests.
using ControlList = absl::Span<const ControlHandle>;
using StepMaker = std::function<absl::StatusOr<std::unique_ptr<Step>>(ControlList)>;
using PlanDraft = std::vector<StepMaker>;

absl::StatusOr<Plan> MakePlan(const PlanDraft& draft, ControlList controls);

// A straight run of native work that grows.
struct NativeBlock {
  SequenceBlock steps;
  std::vector<SliceUse> uses;
  double cost_ns = 0;
  // The kernel that costs most, and how many there are: what the block is called in the timeline.
  const Instruction* dearest = nullptr;
  double dearest_ns = -1;
  int kernels = 0;
};

// Drafts the plans of a module's computations.
class Drafter {
 public:
  Drafter(const KernelTable& kernels, const BufferAssignment& buffers, uint64_t fingerprint)
      : kernels_(kernels), buffers_(buffers), fingerprint_(fingerprint), tokens_(buffers.liveness()) {}

  absl::StatusOr<PlanDraft> DraftEntry(const Computation& entry);
  // The loops and branches that the draft wants as native functions; different ones.
  absl::Span<const ControlRequest> controls() const { return controls_; }
  int64_t collective_count() const { return collective_count_; }
  std::vector<HostChannel> TakeHostChannels() { return std::move(host_channels_); }

 private:
  struct Open;  // a plan under construction
  absl::Status AddAll(const Computation& computation, Open& open);
  absl::Status Add(const Instruction* instruction, Open& open);
  absl::Status AddCollective(const Instruction* instruction, Open& open);
  absl::Status AddCustomCall(const Instruction* instruction, Open& open);
  absl::Status AddHostTransfer(const Instruction* transfer, Open& open);
  absl::Status AddLoopStep(const Instruction* loop, Open& open);
  absl::Status AddConditionalStep(const Instruction* conditional, Open& open);
  absl::StatusOr<PlanDraft> DraftPart(const Computation& computation,
                                      const std::vector<SliceCopy>& copies_at_end);
  void Flush(Open& open);
  size_t WantControl(SequenceStep step);
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
  std::vector<ControlRequest> controls_;
  absl::flat_hash_map<std::string, size_t> control_by_key_;
  int64_t collective_count_ = 0;
  TokenOrder tokens_;
  std::vector<HostChannel> host_channels_;  // different ones
};

}  // namespace shoal

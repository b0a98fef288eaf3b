// FusionPlan: which instructions of a computation are kernels' roots and which are computed inside others'
// kernels. For fuse.cc.
//
// Instructions are looked at from the last to the first, so that all users have been decided. For each kernel
// that would take an instruction in, the plan counts how often its elements would be computed; a broadcast or
// a second way to the root with other indices multiplies that.
#pragma once

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/hlo/instruction.h"
#include "core/passes/fuse.h"

namespace shoal {

class FusionPlan {
 public:
  FusionPlan(const Computation& computation, const FusionModel& model);

  // In order.
  const std::vector<Instruction*>& instructions() const { return instructions_; }
  // Whether `instruction` has memory of its own.
  bool IsRoot(const Instruction* instruction) const { return nodes_.at(instruction).is_root; }
  // Whether `operand` is computed inside a kernel in which `user` stands.
  bool IsInlined(const Instruction* user, int64_t operand) const;
  // Whether `user`, computed inside the kernel of `root`, reads `operand` element by element where the kernel
  // writes (or, for a reduce as root, where it reads its own operand).
  bool ReadsInPlace(const Instruction* root, const Instruction* user, int64_t operand) const;
  const FusionModel& model() const { return model_; }
  // Whether a kernel may grow from this root.
  bool CanBeKernel(const Instruction* instruction) const { return nodes_.at(instruction).fusable; }

 private:
  // How a kernel reaches an instruction. Positions of the same class are read once.
  struct Use {
    const Instruction* kernel = nullptr;
    double evaluations = 0;    // elements computed in the kernel
    uint64_t index_class = 0;  // 0: the root's own position
    bool below_reduce = false;
  };
  struct Node {
    bool fusable = false;
    bool free = false;  // worth computing again wherever it is needed
    bool is_root = true;
    std::vector<Use> uses;  // by kernels that it is in; its own kernel if it is a root
  };
  struct Kernel {
    int size = 0;  // instructions, each as often as it is emitted
    bool has_reduce = false;
  };

  void Decide(const Instruction* instruction);
  bool ShouldInline(const Instruction* instruction, std::vector<Use>& uses);
  bool MayInlineInto(const Instruction* user, const Instruction* operand) const;
  bool ReadsWhatIsUpdated(const Instruction* instruction, const std::vector<Use>& uses) const;
  bool ReduceMayInline(const Instruction* reduce, const std::vector<Use>& uses) const;
  bool Profitable(const Instruction* instruction, const std::vector<Use>& uses) const;
  // What reading `operand` from `user`, itself used as `use`, amounts to.
  Use Through(const Instruction* user, int64_t operand, const Use& use) const;
  std::vector<Use> UsesBy(const Instruction* instruction) const;
  void MakeRoot(const Instruction* instruction);

  const FusionModel& model_;
  const Instruction* root_;
  std::vector<Instruction*> instructions_;
  absl::flat_hash_map<const Instruction*, Node> nodes_;
  absl::flat_hash_map<const Instruction*, Kernel> kernels_;  // by root
};

}  // namespace shoal

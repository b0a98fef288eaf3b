// KernelGroups: which kernels of a FusionPlan become one kernel with several outputs. For fuse.cc.
//
// Kernels over the same positions that read the same big array, or of which one reads another's output where
// it would write, are joined: m, v and w of an optimiser step; sum and sum of squares of one array. Never if
// that would make a circle.
#pragma once

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/passes/fusion_plan.h"

namespace shoal {

struct KernelGroup {
  std::vector<Instruction*> roots;   // in order
  std::vector<Instruction*> inside;  // computed in the kernel, operands first
  bool is_row = false;               // goes over rows; then also
  std::vector<Instruction*> hidden;  // roots of kernels that it was made of, read by itself only
};

class KernelGroups {
 public:
  explicit KernelGroups(const FusionPlan& plan);

  // In the order of their first roots.
  const std::vector<KernelGroup>& groups() const { return groups_; }
  // Whether the kernel of `group` computes `user`'s operand itself.
  bool IsInside(const KernelGroup& group, const Instruction* user, int64_t operand) const;

 private:
  enum class Kind : uint8_t { kLoop, kReduce, kAlone };
  // What one kernel reads.
  struct Reads {
    Kind kind = Kind::kAlone;
    std::vector<Instruction*> outside;
    absl::flat_hash_set<const Instruction*> in_place;  // of these, read element by element
  };

  KernelGroup Collect(Instruction* root, Reads& reads) const;
  void Visit(const KernelGroup& group, Instruction* instruction,
             absl::flat_hash_set<const Instruction*>& seen, std::vector<Instruction*>& inside) const;
  void Join(Instruction* root);
  bool TryJoin(int group, Instruction* root);
  void JoinRows();
  bool TryJoinRows(int first, int second);
  // `readers`: by array, the roots of kernels that read it from memory.
  void HideInnerRoots(
      KernelGroup& group,
      const absl::flat_hash_map<const Instruction*, std::vector<const Instruction*>>& readers) const;
  bool SamePositions(const Instruction* a, const Instruction* b) const;
  bool MakesCircle(const std::vector<Instruction*>& roots) const;
  // The positions of the first and the last of `roots`.
  std::pair<int, int> Extent(const std::vector<Instruction*>& roots) const;
  void NoteJoined(const std::vector<Instruction*>& roots);
  bool MayNeed(int position, int earliest) const;

  const FusionPlan& plan_;
  std::vector<KernelGroup> groups_;
  absl::flat_hash_map<const Instruction*, Reads> reads_;   // by root
  absl::flat_hash_map<const Instruction*, int> group_of_;  // by root
  absl::flat_hash_map<const Instruction*, int> last_reader_;  // by array: the latest group, in place
  absl::flat_hash_map<const Instruction*, int> position_;  // in plan_.instructions()
  // A Fenwick tree of maxima: up to a position, the last root of any joined kernel that begins there or
  // before.
  std::vector<int> furthest_;
};

}  // namespace shoal

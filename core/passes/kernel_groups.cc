#include "core/passes/kernel_groups.h"

#include <algorithm>

namespace shoal {
namespace {

constexpr int64_t kWorthJoiningBytes = 4096;  // what is smaller stays in the first-level cache anyway
constexpr size_t kMaxOutputs = 8, kMaxOutside = 24, kMaxInside = 150;
constexpr size_t kMaxRowRoots = 16;
constexpr size_t kMaxSearch = 4000;  // instructions looked at before a join is given up

bool IsPlain(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kReshape || instruction.opcode() == Opcode::kBitcast ||
         instruction.opcode() == Opcode::kConstant;
}

}  // namespace

KernelGroups::KernelGroups(const FusionPlan& plan)
    : plan_(plan), furthest_(plan.instructions().size() + 1, 0) {
  for (Instruction* instruction : plan.instructions()) {
    position_[instruction] = static_cast<int>(position_.size());
    if (!plan.IsRoot(instruction) || !plan.CanBeKernel(instruction) || IsPlain(*instruction)) continue;
    Reads& reads = reads_[instruction];
    group_of_[instruction] = static_cast<int>(groups_.size());
    groups_.push_back(Collect(instruction, reads));
  }
  for (Instruction* instruction : plan.instructions()) {
    if (reads_.contains(instruction)) Join(instruction);
  }
  JoinRows();
  groups_.erase(
      std::remove_if(groups_.begin(), groups_.end(), [](const KernelGroup& g) { return g.roots.empty(); }),
      groups_.end());
}

bool KernelGroups::IsInside(const KernelGroup& group, const Instruction* user, int64_t operand) const {
  const Instruction* producer = user->operand(operand);
  for (const std::vector<Instruction*>* own : {&group.roots, &group.hidden}) {
    if (std::find(own->begin(), own->end(), producer) != own->end()) return true;
  }
  return plan_.IsInlined(user, operand);
}

void KernelGroups::Visit(const KernelGroup& group, Instruction* instruction,
                         absl::flat_hash_set<const Instruction*>& seen,
                         std::vector<Instruction*>& inside) const {
  if (!seen.insert(instruction).second) return;
  for (int64_t i = 0; i < instruction->operand_count(); ++i) {
    if (IsInside(group, instruction, i)) Visit(group, instruction->operand(i), seen, inside);
  }
  inside.push_back(instruction);
}

KernelGroup KernelGroups::Collect(Instruction* root, Reads& reads) const {
  KernelGroup group{{root}, {}};
  absl::flat_hash_set<const Instruction*> seen, elsewhere;
  Visit(group, root, seen, group.inside);
  bool inner_reduce = false;
  for (Instruction* instruction : group.inside) {
    inner_reduce |= instruction != root && instruction->opcode() == Opcode::kReduce;
    for (int64_t i = 0; i < instruction->operand_count(); ++i) {
      Instruction* operand = instruction->operand(i);
      if (IsInside(group, instruction, i)) continue;
      if (std::find(reads.outside.begin(), reads.outside.end(), operand) == reads.outside.end()) {
        reads.outside.push_back(operand);
      }
      (plan_.ReadsInPlace(root, instruction, i) ? reads.in_place : elsewhere).insert(operand);
    }
  }
  for (const Instruction* operand : elsewhere) reads.in_place.erase(operand);
  const bool alone = inner_reduce || !root->shape().IsArray() ||
                     root->opcode() == Opcode::kDynamicUpdateSlice || root->opcode() == Opcode::kTranspose ||
                     root->opcode() == Opcode::kConcatenate;
  reads.kind = alone ? Kind::kAlone : root->opcode() == Opcode::kReduce ? Kind::kReduce : Kind::kLoop;
  return group;
}

bool KernelGroups::SamePositions(const Instruction* a, const Instruction* b) const {
  const Kind kind = reads_.at(a).kind;
  if (kind == Kind::kAlone || kind != reads_.at(b).kind) return false;
  if (!std::equal(a->shape().dims().begin(), a->shape().dims().end(), b->shape().dims().begin(),
                  b->shape().dims().end())) {
    return false;
  }
  if (kind == Kind::kLoop) return true;
  const auto of_a = a->operand(0)->shape().dims(), of_b = b->operand(0)->shape().dims();
  return std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end()) &&
         std::equal(a->dimensions().begin(), a->dimensions().end(), b->dimensions().begin(),
                    b->dimensions().end());
}

// Looks for a group that the kernel of `root` fits into.
void KernelGroups::Join(Instruction* root) {
  const Reads& reads = reads_.at(root);
  bool joined = reads.kind == Kind::kAlone;
  for (Instruction* operand : reads.outside) {
    if (joined || !reads.in_place.contains(operand) || operand->shape().ByteSize() < kWorthJoiningBytes)
      continue;
    if (auto it = group_of_.find(operand); it != group_of_.end()) joined = TryJoin(it->second, root);
    if (auto it = last_reader_.find(operand); !joined && it != last_reader_.end())
      joined = TryJoin(it->second, root);
  }
  for (const Instruction* operand : reads.in_place) last_reader_[operand] = group_of_.at(root);
}

bool KernelGroups::TryJoin(int group, Instruction* root) {
  KernelGroup& into = groups_[group];
  if (into.roots.empty() || !SamePositions(into.roots[0], root) || into.roots.size() >= kMaxOutputs)
    return false;
  const Reads& reads = reads_.at(root);
  absl::flat_hash_set<const Instruction*> outside(reads.outside.begin(), reads.outside.end());
  for (const Instruction* other : into.roots) {
    // What another kernel of the group writes must be read in place, and by loops only.
    if (outside.contains(other) && (!reads.in_place.contains(other) || reads.kind != Kind::kLoop))
      return false;
    outside.insert(reads_.at(other).outside.begin(), reads_.at(other).outside.end());
  }
  if (outside.size() > kMaxOutside) return false;
  KernelGroup joined{into.roots, {}};
  joined.roots.push_back(root);
  absl::flat_hash_set<const Instruction*> seen;
  for (Instruction* member : joined.roots) Visit(joined, member, seen, joined.inside);
  if (joined.inside.size() > kMaxInside || MakesCircle(joined.roots)) return false;
  groups_[group_of_.at(root)] = {};
  group_of_[root] = group;
  into = std::move(joined);
  NoteJoined(into.roots);
  return true;
}

// Goes through the kernels in order, so that a chain of reductions grows from its beginning.
void KernelGroups::JoinRows() {
  if (plan_.model().can_be_row_kernel == nullptr) return;
  for (Instruction* root : plan_.instructions()) {
    if (!reads_.contains(root)) continue;
    for (Instruction* operand : reads_.at(root).outside) {
      auto from = group_of_.find(operand);
      if (from != group_of_.end() && from->second != group_of_.at(root))
        TryJoinRows(from->second, group_of_.at(root));
    }
  }
  absl::flat_hash_map<const Instruction*, std::vector<const Instruction*>> readers;
  for (const auto& [kernel, reads] : reads_) {
    for (const Instruction* operand : reads.outside) readers[operand].push_back(kernel);
  }
  for (KernelGroup& group : groups_) {
    if (group.is_row) HideInnerRoots(group, readers);
  }
}

bool KernelGroups::TryJoinRows(int first, int second) {
  KernelGroup joined{groups_[first].roots, {}, true, {}};
  joined.roots.insert(joined.roots.end(), groups_[second].roots.begin(), groups_[second].roots.end());
  if (joined.roots.size() > kMaxRowRoots) return false;
  absl::flat_hash_set<const Instruction*> seen, outside;
  for (Instruction* member : joined.roots) {
    Visit(joined, member, seen, joined.inside);
    for (const Instruction* operand : reads_.at(member).outside) outside.insert(operand);
  }
  if (joined.inside.size() > kMaxInside || outside.size() > kMaxOutside + joined.roots.size()) return false;
  if (!plan_.model().can_be_row_kernel(joined.inside, joined.roots) || MakesCircle(joined.roots))
    return false;
  for (Instruction* member : joined.roots) group_of_[member] = second;
  groups_[first] = {};
  groups_[second] = std::move(joined);
  NoteJoined(groups_[second].roots);
  return true;
}

// A user inside may be computed in other kernels too, which then read the root: computed once more for them,
// a sum could come out rounded differently, and max(x, y) == x be false.
void KernelGroups::HideInnerRoots(
    KernelGroup& group,
    const absl::flat_hash_map<const Instruction*, std::vector<const Instruction*>>& readers) const {
  const absl::flat_hash_set<const Instruction*> inside(group.inside.begin(), group.inside.end());
  std::vector<Instruction*> read_outside;
  for (Instruction* root : group.roots) {
    bool outside = root->users().empty() || root == root->parent()->root();
    for (const Instruction* user : root->users()) outside |= !inside.contains(user);
    if (const auto it = readers.find(root); it != readers.end()) {
      for (const Instruction* kernel : it->second) outside |= group_of_.at(kernel) != group_of_.at(root);
    }
    (outside ? read_outside : group.hidden).push_back(root);
  }
  group.roots = std::move(read_outside);
}

std::pair<int, int> KernelGroups::Extent(const std::vector<Instruction*>& roots) const {
  int first = position_.at(roots[0]), last = first;
  for (const Instruction* root : roots) {
    first = std::min(first, position_.at(root));
    last = std::max(last, position_.at(root));
  }
  return {first, last};
}

void KernelGroups::NoteJoined(const std::vector<Instruction*>& roots) {
  const auto [first, last] = Extent(roots);
  for (size_t i = static_cast<size_t>(first) + 1; i < furthest_.size(); i += i & -i) {
    furthest_[i] = std::max(furthest_[i], last);
  }
}

// Whether what stands at `position` may need, by way of operands and of the other outputs of kernels, what
// stands at `earliest` or later. Operands stand before their users, so only a joined kernel leads forwards.
bool KernelGroups::MayNeed(int position, int earliest) const {
  for (;;) {
    if (position >= earliest) return true;
    int reach = position;
    for (size_t i = static_cast<size_t>(position) + 1; i > 0; i -= i & -i) {
      reach = std::max(reach, furthest_[i]);
    }
    if (reach == position) return false;
    position = reach;
  }
}

// Whether one of `roots` needs another one by way of something outside their kernel. What cannot need the
// first of them is left out: an optimiser's kernels are joined without a look at the whole gradient.
bool KernelGroups::MakesCircle(const std::vector<Instruction*>& roots) const {
  auto is_member = [&](const Instruction* i) {
    return std::find(roots.begin(), roots.end(), i) != roots.end();
  };
  std::vector<const Instruction*> stack;
  absl::flat_hash_set<const Instruction*> seen;
  const int earliest = Extent(roots).first;
  auto push = [&](const Instruction* i) {
    if (MayNeed(position_.at(i), earliest) && seen.insert(i).second) stack.push_back(i);
  };
  for (const Instruction* root : roots) {
    for (const Instruction* operand : reads_.at(root).outside) {
      if (!is_member(operand)) push(operand);
    }
  }
  while (!stack.empty()) {
    const Instruction* top = stack.back();
    stack.pop_back();
    if (is_member(top) || seen.size() > kMaxSearch) return true;
    for (const Instruction* operand : top->operands()) push(operand);
    // A kernel needs what all its outputs need.
    const auto group = group_of_.find(top);
    if (group == group_of_.end()) continue;
    for (const Instruction* sibling : groups_[group->second].roots) push(sibling);
  }
  return false;
}

}  // namespace shoal

#include "core/passes/fusion_plan.h"

#include <algorithm>

#include "absl/hash/hash.h"

namespace shoal {
namespace {

constexpr double kMemoryNsPerByte = 0.06;  // moved between a core and its caches or memory
constexpr double kKernelNs = 30;           // to start one more kernel
constexpr int kMaxKernelSize = 150;        // beyond it compiling takes longer than it saves
constexpr int64_t kSmallArrayBytes = 4096;

int64_t ElementsOf(const Shape& shape) {
  return shape.IsTuple() ? shape.element(0).ElementCount() : shape.ElementCount();
}

bool IsScalarLike(const Instruction& instruction) {
  return instruction.shape().IsArray() && instruction.shape().ElementCount() == 1;
}

bool IsFree(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kConstant:
      return IsScalarLike(instruction) || instruction.literal().IsSplat();
    case Opcode::kIota:
      return true;
    case Opcode::kBroadcast:
    case Opcode::kReshape:
    case Opcode::kBitcast:
      return instruction.operand(0)->opcode() == Opcode::kConstant && IsFree(*instruction.operand(0));
    default:
      return false;
  }
}

bool OnlyRenames(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kReshape || instruction.opcode() == Opcode::kBitcast;
}

// Whether an element of the result needs the operand's element at the same position, and no other.
bool KeepsPosition(const Instruction& user, const Instruction& operand) {
  return (FamilyOf(user.opcode()) == OpFamily::kElementwise && operand.shape().IsArray() &&
          operand.shape().ElementCount() == user.shape().ElementCount()) ||
         OnlyRenames(user);
}

// Moves elements so that the last dimension no longer runs along memory.
bool MovesLastDimension(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kTranspose) return false;
  const auto dims = instruction.dimensions();
  return dims.back() != static_cast<int64_t>(dims.size()) - 1 && instruction.shape().dim(dims.size() - 1) > 1;
}

}  // namespace

FusionPlan::FusionPlan(const Computation& computation, const FusionModel& model)
    : model_(model), root_(computation.root()), instructions_(computation.instructions()) {
  nodes_.reserve(instructions_.size());
  for (const Instruction* instruction : instructions_) {
    Node& node = nodes_[instruction];
    const bool has_shape = instruction->shape().IsArray() || instruction->opcode() == Opcode::kReduce;
    node.fusable = has_shape && instruction->opcode() != Opcode::kParameter &&
                   instruction->opcode() != Opcode::kGetTupleElement && model_.can_fuse(*instruction);
    node.free = node.fusable && IsFree(*instruction);
    // A table of numbers is better an operand.
    if (instruction->opcode() == Opcode::kConstant) node.fusable = node.free;
  }
  for (auto it = instructions_.rbegin(); it != instructions_.rend(); ++it) Decide(*it);
}

bool FusionPlan::IsInlined(const Instruction* user, int64_t operand) const {
  const Instruction* producer = user->operand(operand);
  const Node& node = nodes_.at(producer);
  if (node.is_root && !node.free) return false;
  if (!MayInlineInto(user, producer)) return false;
  // A renaming costs nothing outside a kernel and something inside.
  return !OnlyRenames(*producer) || IsInlined(producer, 0);
}

bool FusionPlan::ReadsInPlace(const Instruction* root, const Instruction* user, int64_t operand) const {
  const Instruction* producer = user->operand(operand);
  const Use& own = nodes_.at(root).uses[0];
  const bool reduces = root->opcode() == Opcode::kReduce;
  const uint64_t home = reduces ? Through(root, 0, own).index_class : 0;
  const int64_t elements = ElementsOf((reduces ? root->operand(0) : root)->shape());
  if (!producer->shape().IsArray() || producer->shape().ElementCount() != elements) return false;
  for (const Use& use : nodes_.at(user).uses) {
    if (use.kernel == root && Through(user, operand, use).index_class != home) return false;
  }
  return true;
}

void FusionPlan::MakeRoot(const Instruction* instruction) {
  Node& node = nodes_.at(instruction);
  node.is_root = true;
  node.uses.clear();
  if (OnlyRenames(*instruction)) node.fusable = false;
  if (!node.fusable) return;
  Use own;
  own.kernel = instruction;
  own.evaluations = static_cast<double>(ElementsOf(instruction->shape()));
  if (instruction->opcode() == Opcode::kDynamicUpdateSlice) {
    own.evaluations = static_cast<double>(ElementsOf(instruction->operand(1)->shape()));
  }
  node.uses = {own};
  kernels_[instruction] = {1, instruction->opcode() == Opcode::kReduce};
}

void FusionPlan::Decide(const Instruction* instruction) {
  Node& node = nodes_.at(instruction);
  std::vector<Use> uses = UsesBy(instruction);
  if (node.free) {
    // Wherever kernels take it in, and on its own only for users that cannot.
    bool wanted = instruction == root_ || instruction->users().empty();
    for (const Instruction* user : instruction->users()) wanted |= !MayInlineInto(user, instruction);
    node.is_root = wanted;
    node.uses = std::move(uses);
    return;
  }
  if (!ShouldInline(instruction, uses)) return MakeRoot(instruction);
  node.is_root = false;
  node.uses = std::move(uses);
  for (const Use& use : node.uses) {
    // Code for each position: where every operation reads its operand at two, that doubles with each.
    ++kernels_[use.kernel].size;
    kernels_[use.kernel].has_reduce |= instruction->opcode() == Opcode::kReduce;
  }
}

bool FusionPlan::MayInlineInto(const Instruction* user, const Instruction* operand) const {
  const Node& of_user = nodes_.at(user);
  if (!of_user.fusable || !nodes_.at(operand).fusable) return false;
  // What is updated in place has to be memory; a fresh block of zeros is cheaper written with its update.
  if (user->opcode() == Opcode::kDynamicUpdateSlice && user->operand(0) == operand)
    return nodes_.at(operand).free;
  return true;
}

FusionPlan::Use FusionPlan::Through(const Instruction* user, int64_t operand, const Use& use) const {
  const Instruction* producer = user->operand(operand);
  Use through = use;
  const double elements = static_cast<double>(producer->shape().ElementCount());
  const double of_user = static_cast<double>(std::max<int64_t>(1, ElementsOf(user->shape())));
  switch (user->opcode()) {
    case Opcode::kReduce:
      through.evaluations = use.evaluations / of_user * elements;
      through.below_reduce = true;
      break;
    case Opcode::kConcatenate:
    case Opcode::kPad:
      through.evaluations = use.evaluations / of_user * elements;
      break;
    default:
      break;
  }
  if (!KeepsPosition(*user, *producer)) {
    through.index_class = absl::HashOf(use.index_class, static_cast<int>(user->opcode()), user->shape(),
                                       producer->shape(), HashOf(user->attributes()));
    const bool is_data_dependent =
        user->opcode() == Opcode::kGather || user->opcode() == Opcode::kDynamicSlice;
    if (is_data_dependent) through.index_class = absl::HashOf(through.index_class, user->id());
    if (user->opcode() == Opcode::kConcatenate)
      through.index_class = absl::HashOf(through.index_class, operand);
  }
  // A single number is kept in a register, not computed again for every element.
  if (IsScalarLike(*producer)) through.evaluations = std::min(through.evaluations, 16.0);
  return through;
}

// Every way by which kernels reach `instruction`, without those that lead to the same position in the same
// kernel.
std::vector<FusionPlan::Use> FusionPlan::UsesBy(const Instruction* instruction) const {
  std::vector<Use> uses;
  absl::flat_hash_map<std::pair<const Instruction*, uint64_t>, size_t> place;
  for (const Instruction* user : instruction->users()) {
    if (!MayInlineInto(user, instruction)) continue;
    for (int64_t i = 0; i < user->operand_count(); ++i) {
      if (user->operand(i) != instruction) continue;
      for (const Use& of_user : nodes_.at(user).uses) {
        const Use use = Through(user, i, of_user);
        const auto [at, is_new] = place.try_emplace({use.kernel, use.index_class}, uses.size());
        if (is_new) {
          uses.push_back(use);
        } else {
          Use& same = uses[at->second];
          same.evaluations = std::max(same.evaluations, use.evaluations);
          same.below_reduce |= use.below_reduce;
        }
      }
    }
  }
  return uses;
}

bool FusionPlan::ShouldInline(const Instruction* instruction, std::vector<Use>& uses) {
  const Node& node = nodes_.at(instruction);
  if (!node.fusable || instruction == root_ || instruction->users().empty()) return false;
  for (const Instruction* user : instruction->users()) {
    if (!MayInlineInto(user, instruction)) return false;
  }
  if (uses.empty()) return false;
  for (const Use& use : uses) {
    if (kernels_.at(use.kernel).size >= kMaxKernelSize) return false;
  }
  if (ReadsWhatIsUpdated(instruction, uses)) return false;
  if (OnlyRenames(*instruction)) return true;
  const bool is_small = instruction->shape().ByteSize() <= kSmallArrayBytes;
  switch (instruction->opcode()) {
    case Opcode::kDynamicUpdateSlice:
      return false;
    case Opcode::kReduce:
      return ReduceMayInline(instruction, uses);
    case Opcode::kConcatenate:
    case Opcode::kPad:
      if (!is_small) return false;
      break;
    case Opcode::kTranspose:
      if (!is_small && MovesLastDimension(*instruction)) return false;
      break;
    default:
      break;
  }
  // A transposition is a kernel that works in tiles; only its operand's memory order keeps it fast.
  for (const Instruction* user : instruction->users()) {
    if (!is_small && MovesLastDimension(*user)) return false;
  }
  return Profitable(instruction, uses);
}

// A kernel that updates an array in place must not read it, but where it writes: its elements are written in
// any order.
bool FusionPlan::ReadsWhatIsUpdated(const Instruction* instruction, const std::vector<Use>& uses) const {
  auto behind_names = [](const Instruction* value) {
    while (OnlyRenames(*value)) value = value->operand(0);
    return value;
  };
  for (const Use& use : uses) {
    const Instruction* update = use.kernel;
    if (update->opcode() != Opcode::kDynamicUpdateSlice) continue;
    const Instruction* updated = behind_names(update->operand(0));
    for (int64_t i = 0; i < instruction->operand_count(); ++i) {
      if (behind_names(instruction->operand(i)) != updated) continue;
      const bool same_window = i == 0 && instruction->opcode() == Opcode::kDynamicSlice &&
                               instruction->operand(0) == update->operand(0) &&
                               instruction->shape() == update->operand(1)->shape() &&
                               std::equal(instruction->operands().begin() + 1, instruction->operands().end(),
                                          update->operands().begin() + 2, update->operands().end()) &&
                               use.index_class == Through(update, 1, nodes_.at(update).uses[0]).index_class;
      if (!same_window) return true;
    }
  }
  return false;
}

// A reduce stands in front of elementwise work on its own result only.
bool FusionPlan::ReduceMayInline(const Instruction* reduce, const std::vector<Use>& uses) const {
  if (uses.size() != 1 || uses[0].index_class != 0 || kernels_.at(uses[0].kernel).has_reduce) return false;
  if (uses[0].below_reduce || !uses[0].kernel->shape().IsArray()) return false;
  return uses[0].kernel->shape().ElementCount() == reduce->shape().ElementCount() &&
         uses[0].kernel->opcode() != Opcode::kDynamicUpdateSlice;
}

bool FusionPlan::Profitable(const Instruction* instruction, const std::vector<Use>& uses) const {
  double evaluations = 0;
  for (const Use& use : uses) evaluations += use.evaluations;
  std::vector<const Instruction*> kernels;
  for (const Use& use : uses) kernels.push_back(use.kernel);
  std::sort(kernels.begin(), kernels.end());
  const double readers = static_cast<double>(std::unique(kernels.begin(), kernels.end()) - kernels.begin());
  const double elements = static_cast<double>(instruction->shape().ElementCount());
  const double again_ns = std::max(0.0, evaluations - elements) * model_.element_cost_ns(*instruction);

  double operand_bytes = 0;
  for (const Instruction* operand : instruction->operands()) {
    if (nodes_.at(operand).free || IsScalarLike(*operand)) continue;
    operand_bytes +=
        static_cast<double>(std::min(operand->shape().ByteSize(), instruction->shape().ByteSize()));
  }
  const double bytes = static_cast<double>(instruction->shape().ByteSize());
  const double kept_bytes = operand_bytes + 2 * bytes + readers * bytes;
  const double fused_bytes = operand_bytes * std::max(readers, evaluations / std::max(1.0, elements));
  return again_ns + kMemoryNsPerByte * fused_bytes < kKernelNs + kMemoryNsPerByte * kept_bytes;
}

}  // namespace shoal

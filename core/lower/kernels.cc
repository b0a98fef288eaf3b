#include "core/lower/kernels.h"

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/memory/liveness.h"

namespace shoal {
namespace {

void AppendOperation(const Instruction& instruction, std::string& key);

void AppendComputation(const Computation& computation, std::string& key) {
  absl::flat_hash_map<const Instruction*, int> position;
  for (const Instruction* instruction : computation.instructions()) {
    position[instruction] = static_cast<int>(position.size());
    AppendOperation(*instruction, key);
    for (const Instruction* operand : instruction->operands())
      absl::StrAppend(&key, ",", position.at(operand));
    key.push_back(';');
  }
  absl::StrAppend(&key, "root", position.at(computation.root()));
}

void AppendOperation(const Instruction& instruction, std::string& key) {
  absl::StrAppend(&key, OpcodeName(instruction.opcode()), " ", instruction.shape().ToString(), " ",
                  absl::Hex(HashOf(instruction.attributes())));
  for (const Computation* callee : instruction.called()) {
    key.push_back('{');
    AppendComputation(*callee, key);
    key.push_back('}');
  }
}

}  // namespace

std::string KernelKey(const Instruction& instruction) {
  std::string key;
  AppendOperation(instruction, key);
  // The kernel of multiply(b, b) may read its first operand only: which operands are the same belongs to it.
  absl::flat_hash_map<const Instruction*, int> position;
  for (const Instruction* operand : instruction.operands()) {
    const int first = position.try_emplace(operand, static_cast<int>(position.size())).first->second;
    absl::StrAppend(&key, ",", first, ":", operand->shape().ToString());
  }
  return key;
}

LoweringKind LoweringKindOf(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kWhile:
      return LoweringKind::kLoop;
    case Opcode::kConditional:
      return LoweringKind::kConditional;
    case Opcode::kCall:
      return LoweringKind::kCall;
    case Opcode::kCustomCall:
    case Opcode::kInfeed:
    case Opcode::kOutfeed:
      return LoweringKind::kCustomCall;
    case Opcode::kConstant:
    case Opcode::kPartitionId:
    case Opcode::kReplicaId:
      return LoweringKind::kForward;
    default:
      if (IsCrossDevice(instruction.opcode())) return LoweringKind::kCollective;
      return OnlyForwards(instruction) ? LoweringKind::kForward : LoweringKind::kKernel;
  }
}

bool IsNative(const Computation& computation) {
  for (const Instruction* instruction : computation.instructions()) {
    switch (LoweringKindOf(*instruction)) {
      case LoweringKind::kCollective:
      case LoweringKind::kCustomCall:
        return false;
      case LoweringKind::kLoop:
      case LoweringKind::kConditional:
      case LoweringKind::kCall:
        for (const Computation* callee : instruction->called()) {
          if (!IsNative(*callee)) return false;
        }
        break;
      default:
        break;
    }
  }
  return true;
}

absl::Status KernelTable::EmitAll(const Computation& computation, ModuleBuilder& builder) {
  for (const Instruction* instruction : computation.instructions()) {
    const LoweringKind kind = LoweringKindOf(*instruction);
    if (kind == LoweringKind::kLoop || kind == LoweringKind::kConditional || kind == LoweringKind::kCall) {
      for (const Computation* callee : instruction->called()) {
        SHOAL_RETURN_IF_ERROR(EmitAll(*callee, builder));
      }
    }
    if (kind != LoweringKind::kKernel) continue;
    const Kernel*& kernel = by_key_[KernelKey(*instruction)];
    if (kernel == nullptr) {
      SHOAL_ASSIGN_OR_RETURN(Kernel emitted,
                             EmitKernel(*instruction, absl::StrCat("kernel_", kernels_.size()), builder));
      kernels_.push_back(std::make_unique<Kernel>(std::move(emitted)));
      kernel = kernels_.back().get();
    }
    by_instruction_[instruction] = kernel;
  }
  return absl::OkStatus();
}

absl::StatusOr<KernelTable> KernelTable::Emit(const Module& module, ModuleBuilder& builder) {
  KernelTable table;
  SHOAL_RETURN_IF_ERROR(table.EmitAll(*module.entry(), builder));
  return table;
}

const Kernel* KernelTable::Find(const Instruction* instruction) const {
  const auto it = by_instruction_.find(instruction);
  return it == by_instruction_.end() ? nullptr : it->second;
}

std::vector<std::shared_ptr<const Routine>> KernelTable::Routines() const {
  std::vector<std::shared_ptr<const Routine>> routines;
  for (const auto& kernel : kernels_) {
    for (const KernelPhase& phase : kernel->phases) {
      if (phase.routine != nullptr) routines.push_back(phase.routine);
    }
  }
  return routines;
}

}  // namespace shoal

#include "core/lower/kernels.h"

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/hlo/attribute_text.h"
#include "core/hlo/cost_analysis.h"
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
  absl::StrAppend(&key, OpcodeName(instruction.opcode()), " ", instruction.shape().ToString());
  switch (instruction.opcode()) {
    case Opcode::kParameter:
      absl::StrAppend(&key, instruction.parameter_number());
      break;
    case Opcode::kConstant:
      key.append(instruction.literal().data(), instruction.literal().size_bytes());
      break;
    default:
      key += AttributesToText(instruction.opcode(), instruction.attributes());
  }
  for (const Computation* callee : instruction.called()) {
    key.push_back('{');
    AppendComputation(*callee, key);
    key.push_back('}');
  }
}

// Whether the best code would run for less than half a microsecond, which is little against starting a
// program: then a call may take longer, and compiling shorter.
bool IsSmall(const Instruction& instruction) {
  switch (FamilyOf(instruction.opcode())) {
    case OpFamily::kElementwise:
    case OpFamily::kConstantFamily:
    case OpFamily::kReshapeFamily:
    case OpFamily::kSliceFamily:
    case OpFamily::kReduceFamily:
    case OpFamily::kDotFamily:
    case OpFamily::kGatherFamily:
    case OpFamily::kSortFamily:
    case OpFamily::kFusionFamily:
      break;
    default:
      return false;  // more work than CostOf knows of
  }
  constexpr double kNsPerFlop = 0.05, kNsPerTranscendental = 0.6, kNsPerByte = 0.02, kSmallNs = 500;
  const Cost cost = CostOf(instruction);
  return cost.flops * kNsPerFlop + cost.transcendentals * kNsPerTranscendental +
             cost.bytes_accessed * kNsPerByte <
         kSmallNs;
}

}  // namespace

std::string KernelKey(const Instruction& instruction, CodeEffort effort) {
  std::string key = effort == CodeEffort::kQuick ? "quick " : "";
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

void KernelTable::Collect(const Computation& computation, bool in_loop,
                          std::vector<KernelRequest>& requests) {
  for (const Instruction* instruction : computation.instructions()) {
    const LoweringKind kind = LoweringKindOf(*instruction);
    if (kind == LoweringKind::kLoop || kind == LoweringKind::kConditional || kind == LoweringKind::kCall) {
      for (const Computation* callee : instruction->called())
        Collect(*callee, in_loop || kind == LoweringKind::kLoop, requests);
    }
    if (kind != LoweringKind::kKernel) continue;
    const CodeEffort effort = in_loop || !IsSmall(*instruction) ? CodeEffort::kFull : CodeEffort::kQuick;
    std::string key = KernelKey(*instruction, effort);
    const auto [it, is_new] = by_key_.try_emplace(key, static_cast<int>(requests.size()));
    if (is_new) requests.push_back({std::move(key), instruction, effort});
    by_instruction_[instruction] = it->second;
  }
}

absl::StatusOr<KernelTable> KernelTable::Make(const Module& module, uint64_t program, const CodePeers& peers,
                                              KernelCache& cache) {
  KernelTable table;
  std::vector<KernelRequest> requests;
  table.Collect(*module.entry(), /*in_loop=*/false, requests);
  SHOAL_RETURN_IF_ERROR(CompileTogether(requests, program, peers, cache));
  SHOAL_ASSIGN_OR_RETURN(table.kernels_, cache.Kernels(requests));
  return table;
}

const Kernel* KernelTable::Find(const Instruction* instruction) const {
  const auto it = by_instruction_.find(instruction);
  return it == by_instruction_.end() ? nullptr : &kernels_[it->second]->kernel;
}

}  // namespace shoal

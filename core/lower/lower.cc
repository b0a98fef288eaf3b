#include "core/lower/lower.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/hlo/effects.h"
#include "core/lower/draft.h"
#include "core/lower/kernels.h"
#include "core/memory/assignment.h"

namespace shoal {
namespace {

using Clock = std::chrono::steady_clock;

// Adds the time since the last call to `seconds`.
class StopWatch {
 public:
  void Lap(double& seconds) {
    const Clock::time_point now = Clock::now();
    seconds += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }

 private:
  Clock::time_point last_ = Clock::now();
};

// The operand leaf that the root of `computation`, a fused one, updates for output `output`; -1 if that is
// not an update.
int64_t UpdatedParameter(const Computation& computation, int64_t output) {
  const Instruction* root = computation.root();
  if (root->opcode() == Opcode::kTuple) root = root->operand(output);
  if (root->opcode() != Opcode::kDynamicUpdateSlice && root->opcode() != Opcode::kScatter) return -1;
  const Instruction* updated = root->operand(0);
  while (updated->opcode() == Opcode::kReshape || updated->opcode() == Opcode::kBitcast) {
    updated = updated->operand(0);
  }
  return updated->opcode() == Opcode::kParameter ? updated->parameter_number() : -1;
}

Sharing ShareOfKernel(const Instruction& instruction, int64_t operand, int64_t output) {
  if (!MayShareBuffer(instruction, operand, output)) return Sharing::kNever;
  switch (instruction.opcode()) {
    case Opcode::kDynamicUpdateSlice:
      return operand == 0 ? Sharing::kWanted : Sharing::kAllowed;
    case Opcode::kScatter:
      return operand == output ? Sharing::kWanted : Sharing::kAllowed;
    case Opcode::kFusion:
      return UpdatedParameter(*instruction.called(0), output) == operand ? Sharing::kWanted
                                                                         : Sharing::kAllowed;
    default:
      return Sharing::kAllowed;
  }
}

Sharing ShareOf(const Instruction& instruction, int64_t operand, int64_t output) {
  switch (LoweringKindOf(instruction)) {
    case LoweringKind::kKernel:
      return ShareOfKernel(instruction, operand, output);
    case LoweringKind::kCollective: {
      const bool in_place = instruction.opcode() == Opcode::kAllReduce ||
                            instruction.opcode() == Opcode::kCollectivePermute ||
                            instruction.opcode() == Opcode::kCollectiveBroadcast;
      return in_place && operand == output ? Sharing::kAllowed : Sharing::kNever;
    }
    case LoweringKind::kCustomCall:
      for (const auto& [result, aliased] :
           instruction.attributes<CustomCallAttributes>().output_operand_aliases) {
        if (result == output && aliased == operand) return Sharing::kWanted;
      }
      return Sharing::kNever;
    default:
      return Sharing::kNever;
  }
}

std::vector<Shape> ParameterShapes(const Computation& entry) {
  std::vector<Shape> shapes;
  for (const Instruction* parameter : entry.parameters()) {
    for (Shape& leaf : parameter->shape().Leaves()) shapes.push_back(std::move(leaf));
  }
  return shapes;
}

}  // namespace

absl::StatusOr<Lowered> Lower(const Module& module, uint64_t fingerprint, KernelCache& cache,
                              LowerTimes* times, const CodePeers& peers) {
  LowerTimes unused;
  LowerTimes& spent = times == nullptr ? unused : *times;
  StopWatch watch;
  const int64_t compiled_before = cache.compiled_kernels();
  SHOAL_ASSIGN_OR_RETURN(KernelTable kernels, KernelTable::Make(module, fingerprint, peers, cache));
  spent.kernel_count = static_cast<int64_t>(kernels.kernels().size());
  spent.new_kernels = cache.compiled_kernels() - compiled_before;
  watch.Lap(spent.kernels);

  AssignmentOptions options;
  options.share = ShareOf;
  options.scratch_bytes = [&](const Instruction& instruction) {
    const Kernel* kernel = kernels.Find(&instruction);
    return kernel == nullptr ? int64_t{0} : kernel->scratch_bytes;
  };
  SHOAL_ASSIGN_OR_RETURN(BufferAssignment buffers, BufferAssignment::Assign(module, options));
  watch.Lap(spent.buffers);

  Drafter drafter(kernels, buffers, fingerprint);
  SHOAL_ASSIGN_OR_RETURN(PlanDraft draft, drafter.DraftEntry(*module.entry()));
  watch.Lap(spent.plan);
  auto code = std::make_shared<ProgramCode>();
  SHOAL_ASSIGN_OR_RETURN(code->controls, cache.Controls(drafter.controls(), kernels.kernels()));
  code->kernels.assign(kernels.kernels().begin(), kernels.kernels().end());
  watch.Lap(spent.control);

  ProgramParts parts;
  parts.name = module.name();
  SHOAL_ASSIGN_OR_RETURN(parts.plan, MakePlan(draft, code->controls));
  parts.parameter_shapes = ParameterShapes(*module.entry());
  parts.result_shapes = module.entry()->root()->shape().Leaves();
  parts.result_donors = buffers.result_donors();
  parts.released_parameters = buffers.released_parameters();
  parts.num_partitions = module.config().num_partitions;
  parts.collective_count = drafter.collective_count();
  parts.host_channels = drafter.TakeHostChannels();
  const std::vector<Instruction*> entry = module.entry()->instructions();
  parts.has_effects =
      std::any_of(entry.begin(), entry.end(), [](const Instruction* i) { return HasEffect(*i); });
  parts.temp_bytes = buffers.temp_bytes();
  parts.constants = buffers.constants();
  parts.code_bytes = code->bytes();
  parts.code = code;
  auto program = PlanProgram::Create(std::move(parts));
  watch.Lap(spent.plan);
  return Lowered{std::move(program), std::move(code)};
}

}  // namespace shoal

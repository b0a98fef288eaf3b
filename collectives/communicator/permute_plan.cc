// Permute: its pairs are its schedule. Between members of one process it goes by pointer, and who has no
// source gets zeros.
#include <utility>

#include "collectives/communicator/array_plan.h"

namespace shoal {
namespace {

// Where each member's data is sent from: in place its output, and with it the input, may be written before
// the input is sent.
std::vector<MemoryRef> Sources(ArrayPlan* plan) {
  if (!plan->options.aliased) return plan->inputs;
  std::vector<MemoryRef> sources;
  Phase& phase = plan->Before();
  for (const MemoryRef& input : plan->inputs) {
    sources.push_back(plan->Staging(plan->bytes));
    phase.copies.push_back(
        {OnePiece(input, plan->bytes), OnePiece(sources.back(), plan->bytes), plan->bytes});
  }
  return sources;
}

}  // namespace

// Buffers of the schedule: the members' sources, then their outputs. Pairs of partitions are ranks here, for
// the group of a permute is all partitions in their order.
void PlanPermute(ArrayPlan* plan) {
  const GroupView& group = plan->group;
  const int64_t bytes = plan->bytes;
  const std::vector<MemoryRef> sources = Sources(plan);
  std::vector<bool> has_source(plan->members, false);
  std::vector<Step> steps;
  Phase& local = plan->Before();
  for (const auto& [source, target] : plan->op.pairs) {
    const int from = group.process_of[source.value()], to = group.process_of[target.value()];
    const int from_member = group.member_of[source.value()], to_member = group.member_of[target.value()];
    if (to == group.self) has_source[to_member] = true;
    if (from == group.self && to == group.self) {
      local.copies.push_back(
          {OnePiece(sources[from_member], bytes), OnePiece(plan->outputs[to_member], bytes), bytes});
    } else if (from == group.self) {
      steps.push_back({StepKind::kSend, to, {kFirstOwnBuffer + from_member}});
    } else if (to == group.self) {
      steps.push_back({StepKind::kReceive, from, {kFirstOwnBuffer + plan->members + to_member}});
    }
  }
  for (int k = 0; k < plan->members; ++k) {
    if (has_source[k]) continue;
    local.copies.push_back({OnePiece({MemoryRef::kZeros}, bytes), OnePiece(plan->outputs[k], bytes), bytes});
  }
  if (plan->HasOneProcess()) return;
  Schedule schedule{"pairs", 1};
  if (!steps.empty()) schedule.rounds.push_back(std::move(steps));
  std::vector<LaneMemory> memory(kFirstOwnBuffer);
  for (const MemoryRef& source : sources) memory.push_back({source, 0});
  for (const MemoryRef& output : plan->outputs) memory.push_back({output, 0});
  plan->AddLane(schedule, {0, bytes}, memory);
}

}  // namespace shoal

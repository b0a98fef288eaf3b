// All-gather: each process's members put their parts into the gathered array, the processes exchange theirs,
// and the other members get copies. The gathered array is the first member's output where that has the packed
// order; else it is packed, and each output is laid out from it.
#include "collectives/communicator/array_plan.h"

namespace shoal {
namespace {

// Where every participant is here.
void GatherHere(ArrayPlan* plan) {
  Phase& phase = plan->Before();
  for (const MemoryRef& output : plan->outputs) {
    for (int r = 0; r < plan->ranks; ++r) {
      phase.copies.push_back(
          {OnePiece(plan->inputs[r], plan->bytes), plan->Part(output, plan->array.out, r), plan->bytes});
    }
  }
}

}  // namespace

void PlanAllGather(ArrayPlan* plan) {
  if (plan->HasOneProcess()) return GatherHere(plan);
  const int64_t bytes = plan->bytes, all_bytes = bytes * plan->ranks;
  const bool packed = plan->IsPacked(plan->array.out);
  const Schedule schedule = plan->Build(CollectiveKind::kAllGather, all_bytes);
  const std::vector<int64_t> offsets = plan->PackedOffsets(bytes);
  if (packed && plan->members == 1 && plan->group.hosts() == 1 && !SendsOutput(schedule)) {
    // Sent from where it lies; nobody waits for its copy.
    const int64_t at = offsets[plan->group.self];
    plan->Meanwhile().copies.push_back(
        {OnePiece(plan->inputs[0], bytes), OnePiece(plan->outputs[0] + at, bytes), bytes});
    return plan->AddLane(schedule, offsets, {{plan->inputs[0], at}, {plan->outputs[0], 0}});
  }
  const MemoryRef gathered = packed ? plan->outputs[0] : plan->Staging(all_bytes);
  PlacedWork& before = plan->before.emplace_back();
  for (int k = 0; k < plan->members; ++k) {
    const int64_t at = plan->PackedAt(plan->group.local_ranks[k]);
    before.Add(at, CopyJob{OnePiece(plan->inputs[k], bytes), OnePiece(gathered + at, bytes), bytes});
  }
  PlacedWork& after = plan->after.emplace_back();
  if (packed) after = plan->CopiesToOtherMembers(all_bytes);
  for (int k = 0; !packed && k < plan->members; ++k) {
    for (int r = 0; r < plan->ranks; ++r) {
      const int64_t at = plan->PackedAt(r);
      after.Add(at, CopyJob{OnePiece(gathered + at, bytes), plan->Part(plan->outputs[k], plan->array.out, r),
                            bytes});
    }
  }
  plan->AddLane(schedule, offsets, {{gathered, 0}, {gathered, 0}});
}

}  // namespace shoal

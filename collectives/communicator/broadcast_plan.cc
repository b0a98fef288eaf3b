// Broadcast: from the first rank to its process's other members by pointer, to the other processes, and there
// to all members.
#include "collectives/communicator/array_plan.h"

namespace shoal {

void PlanBroadcast(ArrayPlan* plan) {
  const int64_t bytes = plan->bytes;
  const int root = plan->group.process_of[0];
  if (root == plan->group.self) {
    Phase& phase = plan->Before();
    for (const MemoryRef& output : plan->outputs)
      phase.copies.push_back({OnePiece(plan->inputs[0], bytes), OnePiece(output, bytes), bytes});
  }
  if (plan->HasOneProcess()) return;
  if (root != plan->group.self) plan->after.push_back(plan->CopiesToOtherMembers(bytes));
  plan->AddLane(plan->Build(CollectiveKind::kCollectiveBroadcast, bytes, root), {0, bytes},
                {{plan->inputs[0], 0}, {plan->outputs[0], 0}});
}

}  // namespace shoal

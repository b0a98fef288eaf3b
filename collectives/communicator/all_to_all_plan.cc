// All-to-all: parts between members of one process go by pointer, those between processes in a chunk for each
// pair of them, straight between the members' arrays where these are packed and every process has one.
#include "absl/strings/str_cat.h"
#include "collectives/communicator/array_plan.h"

namespace shoal {
namespace {

// A chunk for process j holds, for every member here, a part for every member there: [here][there]; so what
// arrives from j is [there][here].
void ExchangePacked(ArrayPlan* plan, int64_t part) {
  const GroupView& group = plan->group;
  const std::vector<int64_t> offsets = plan->ExchangeOffsets(part);
  const MemoryRef sent = plan->Staging(offsets.back()), received = plan->Staging(offsets.back());
  PlacedWork& before = plan->before.emplace_back();
  PlacedWork& after = plan->after.emplace_back();
  for (int r = 0; r < plan->ranks; ++r) {
    const int process = group.process_of[r], member = group.member_of[r];
    if (process == group.self) continue;
    for (int k = 0; k < plan->members; ++k) {
      const int64_t to = offsets[process] + (k * group.members_of[process] + member) * part;
      const int64_t from = offsets[process] + (member * plan->members + k) * part;
      before.Add(to,
                 CopyJob{plan->Part(plan->inputs[k], plan->array.in, r), OnePiece(sent + to, part), part});
      after.Add(from, CopyJob{OnePiece(received + from, part),
                              plan->Part(plan->outputs[k], plan->array.out, r), part});
    }
  }
  // The same in all processes.
  const int64_t most = plan->bytes * group.most_members();
  plan->AddLane(plan->Build(CollectiveKind::kAllToAll, most), offsets, {{sent, 0}, {received, 0}});
}

}  // namespace

absl::Status PlanAllToAll(ArrayPlan* plan) {
  const CollectiveArray& array = plan->array;
  if (array.elements % plan->ranks != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        plan->op.name, ": ", array.elements, " elements do not divide among ", plan->ranks, " participants"));
  }
  const int64_t part = plan->bytes / plan->ranks;
  // Several members' share is worth the arena's workers, whom no lane may wait for.
  Phase& own = plan->HasOneProcess() || plan->members > 1 ? plan->Before() : plan->Meanwhile();
  for (int s = 0; s < plan->members; ++s) {
    for (int d = 0; d < plan->members; ++d) {
      own.copies.push_back({plan->Part(plan->inputs[s], array.in, plan->group.local_ranks[d]),
                            plan->Part(plan->outputs[d], array.out, plan->group.local_ranks[s]), part});
    }
  }
  if (plan->HasOneProcess()) return absl::OkStatus();
  const bool single = plan->ranks == static_cast<int>(plan->group.processes.size());
  if (single && plan->IsPacked(array.in) && plan->IsPacked(array.out)) {
    plan->AddLane(plan->Build(CollectiveKind::kAllToAll, plan->bytes), plan->ExchangeOffsets(part),
                  {{plan->inputs[0], 0}, {plan->outputs[0], 0}});
  } else {
    ExchangePacked(plan, part);
  }
  return absl::OkStatus();
}

}  // namespace shoal

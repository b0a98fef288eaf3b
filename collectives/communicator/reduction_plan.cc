// All-reduce and reduce-scatter: the members' arrays are reduced among themselves by pointer, the processes
// reduce the results with each other, and what each member gets is copied out.
//
// Sums and products of narrow floats are f32's, rounded once, whoever hosts the devices: where that way would
// round in the middle the same operation is done on f32 between conversions, or, as always in deterministic
// mode, all members' arrays are reduced in the order of their ranks (ordered_schedule.h).
#include <utility>

#include "collectives/communicator/array_plan.h"
#include "collectives/communicator/ordered_schedule.h"

namespace shoal {
namespace {

// With `schedule` sums would be rounded in the middle: among a process's members, or from step to step. The
// same answer in all processes.
bool RoundsTwice(const ArrayPlan& plan, const Schedule& schedule) {
  const ReductionKind reduction = plan.op.reduction;
  const bool rounds = reduction == ReductionKind::kSum || reduction == ReductionKind::kProduct;
  const bool once = plan.group.most_members() == 1 && schedule.reduces_once;
  return IsNarrowFloat(plan.array.type) && rounds && !once;
}

// On one host all members' arrays are read where they lie; over a network that would be more bytes than f32.
bool IsOrderedBetter(const ArrayPlan& plan, const Schedule& schedule) {
  return schedule.reduces_once && plan.group.hosts() == 1;
}

void ReduceInF32(ArrayPlan* plan) {
  CollectiveOp op = plan->op;
  op.arrays[plan->index].type = ElementType::kF32;
  const bool scatters = op.kind == CollectiveKind::kReduceScatter;
  PlanOptions options = plan->options;
  options.aliased = options.aliased || !scatters;
  ArrayPlan wide(op, plan->index, plan->group, options, plan->whole);
  const int64_t in_bytes = scatters ? wide.bytes * wide.ranks : wide.bytes;
  const int64_t own = scatters ? wide.PackedOffsets(wide.bytes)[wide.group.self] : 0;
  PlacedWork widen, narrow;
  for (int k = 0; k < wide.members; ++k) {
    wide.inputs[k] = wide.Staging(in_bytes);
    wide.outputs[k] = scatters ? wide.Staging(wide.bytes) : wide.inputs[k];
    widen.Add(0, ConvertJob{plan->array.type, /*widens=*/true, plan->inputs[k], wide.inputs[k], in_bytes});
    narrow.Add(own + (scatters ? k * wide.bytes : 0),
               ConvertJob{plan->array.type, /*widens=*/false, wide.outputs[k], plan->outputs[k], wide.bytes});
  }
  // Packed by process, what is widened lies elsewhere than in the lanes' data.
  const bool placed = !scatters || wide.IsPacked(wide.array.in);
  placed ? wide.before.push_back(std::move(widen)) : wide.whole->before.push_back(widen.All());
  wide.after.push_back(std::move(narrow));
  scatters ? PlanReduceScatter(&wide) : PlanAllReduce(&wide);
}

// ---- all-reduce

void OrderedAllReduce(ArrayPlan* plan) {
  std::vector<LaneMemory> memory = {{plan->inputs[0], 0}, {plan->outputs[0], 0}, {}};
  for (const MemoryRef& input : plan->inputs) memory.push_back({input, 0});
  plan->after.push_back(plan->CopiesToOtherMembers(plan->bytes));
  plan->AddLane(OrderedAllReduceSchedule(plan->group.process_of, plan->group.self),
                plan->EvenOffsets(plan->array.elements, static_cast<int>(plan->group.processes.size())),
                memory);
}

// ---- reduce-scatter

// Where every participant is here: rank k's part of all inputs.
void ScatterHere(ArrayPlan* plan) {
  Phase& phase = plan->Before();
  for (int k = 0; k < plan->members; ++k) {
    std::vector<Rows> sources;
    for (const MemoryRef& input : plan->inputs)
      sources.push_back(plan->Part(input, plan->array.in, plan->group.local_ranks[k]));
    Rows target = sources[0];  // rows as the sources have them, but close together
    target.base = plan->outputs[k];
    target.stride = target.row;
    phase.reductions.push_back(plan->ReduceOf(std::move(sources), {target}, plan->bytes));
  }
}

// The members' inputs reduced among themselves, packed by process.
MemoryRef PackForScatter(ArrayPlan* plan) {
  if (plan->members == 1 && plan->IsPacked(plan->array.in)) return plan->inputs[0];
  const MemoryRef packed = plan->Staging(plan->bytes * plan->ranks);
  PlacedWork& before = plan->before.emplace_back();
  for (int r = 0; r < plan->ranks; ++r) {
    std::vector<Rows> sources;
    for (const MemoryRef& input : plan->inputs) sources.push_back(plan->Part(input, plan->array.in, r));
    Rows target = sources[0];
    const int64_t at = plan->PackedAt(r);
    target.base = packed + at;
    target.stride = target.row;
    before.Add(at, plan->ReduceOf(std::move(sources), {target}, plan->bytes));
  }
  return packed;
}

void OrderedScatter(ArrayPlan* plan, MemoryRef out, int64_t origin) {
  std::vector<LaneMemory> memory = {{plan->inputs[0], 0}, {out, origin}, {}};
  PlacedWork& before = plan->before.emplace_back();
  for (const MemoryRef& input : plan->inputs) {
    MemoryRef in = input;
    if (!plan->IsPacked(plan->array.in)) {
      in = plan->Staging(plan->bytes * plan->ranks);
      for (int r = 0; r < plan->ranks; ++r) {
        const int64_t at = plan->PackedAt(r);
        before.Add(
            at, CopyJob{plan->Part(input, plan->array.in, r), OnePiece(in + at, plan->bytes), plan->bytes});
      }
    }
    memory.push_back({in, 0});
  }
  plan->AddLane(OrderedReduceScatterSchedule(plan->group.process_of, plan->group.self),
                plan->PackedOffsets(plan->bytes), memory);
}

}  // namespace

void PlanAllReduce(ArrayPlan* plan) {
  const int64_t bytes = plan->bytes;
  std::vector<Rows> inputs, outputs;
  for (int k = 0; k < plan->members; ++k) {
    inputs.push_back(OnePiece(plan->inputs[k], bytes));
    outputs.push_back(OnePiece(plan->outputs[k], bytes));
  }
  if (plan->HasOneProcess()) {
    plan->Before().reductions.push_back(plan->ReduceOf(inputs, outputs, bytes));
    return;
  }
  if (plan->options.deterministic) return OrderedAllReduce(plan);
  const Schedule schedule = plan->Build(CollectiveKind::kAllReduce, bytes);
  if (RoundsTwice(*plan, schedule)) {
    // What goes to everybody in one round goes as f32: to read all arrays would be two.
    const bool ordered = IsOrderedBetter(*plan, schedule) && schedule.rounds.size() > 1;
    return ordered ? OrderedAllReduce(plan) : ReduceInF32(plan);
  }
  MemoryRef source = plan->inputs[0];
  if (plan->members > 1 || (plan->options.aliased && !schedule.in_place)) {
    source = schedule.in_place ? plan->outputs[0] : plan->Staging(bytes);
    plan->before.emplace_back().Add(0, plan->ReduceOf(inputs, {OnePiece(source, bytes)}, bytes));
  }
  plan->after.insert(plan->after.begin(), plan->CopiesToOtherMembers(bytes));
  const std::vector<int64_t> offsets = plan->EvenOffsets(plan->array.elements, schedule.chunks);
  plan->AddLane(schedule, offsets, {{source, 0}, {plan->outputs[0], 0}});
}

void PlanReduceScatter(ArrayPlan* plan) {
  if (plan->HasOneProcess()) return ScatterHere(plan);
  const int64_t bytes = plan->bytes;
  const std::vector<int64_t> offsets = plan->PackedOffsets(bytes);
  const int64_t origin = offsets[plan->group.self];
  const Schedule schedule = plan->Build(CollectiveKind::kReduceScatter, bytes * plan->ranks);
  const bool rounds_twice = RoundsTwice(*plan, schedule);
  const bool ordered = plan->options.deterministic || (rounds_twice && IsOrderedBetter(*plan, schedule));
  if (!ordered && rounds_twice) return ReduceInF32(plan);
  const MemoryRef out = plan->members == 1 ? plan->outputs[0] : plan->Staging(plan->members * bytes);
  PlacedWork after;
  for (int k = 0; plan->members > 1 && k < plan->members; ++k) {
    const int64_t at = k * bytes;
    after.Add(origin + at, CopyJob{OnePiece(out + at, bytes), OnePiece(plan->outputs[k], bytes), bytes});
  }
  plan->after.insert(plan->after.begin(), std::move(after));
  if (ordered) return OrderedScatter(plan, out, origin);
  const MemoryRef in = PackForScatter(plan);
  plan->AddLane(schedule, offsets, {{in, 0}, {out, origin}});
}

}  // namespace shoal

#include "collectives/communicator/array_plan.h"

#include <algorithm>
#include <utility>

#include "collectives/algorithms/select.h"

namespace shoal {
namespace {

// Chunk edges fall on cache lines where that is possible.
constexpr int64_t kCacheLine = 64;
// At most, of a chunk that crosses the network: the first is on its way early, and the last leaves little to
// do; it goes in one piece over MPI (kEagerPieceBytes in mpi_wire.cc). Larger chunks have so many slices
// until these take a worker too long.
constexpr int64_t kSliceBytes = 60 << 10, kManySlices = 16, kLargestSliceBytes = 16 << 20;

// Data that crosses the network goes in slices, so that one is reduced while others are under way.
int SlicesOf(const Schedule& schedule, int64_t chunk_bytes, int hosts) {
  if (hosts == 1 || !schedule.single_chunks) return 1;
  const int64_t wanted = (chunk_bytes + kSliceBytes - 1) / kSliceBytes;
  return static_cast<int>(
      std::clamp<int64_t>(wanted, 1, std::max(kManySlices, chunk_bytes / kLargestSliceBytes)));
}

// Whether the work by pointer is done lane by lane. In place a later lane's input could be written too early,
// unless every byte of the output comes of the input's bytes at the same place.
bool SlicesWork(const ArrayPlan& plan) {
  return plan.group.hosts() > 1 && (!plan.options.aliased || plan.op.kind == CollectiveKind::kAllReduce);
}

void AddOneLane(ArrayPlan* plan, Schedule schedule, std::vector<int64_t> offsets,
                std::vector<LaneMemory> memory) {
  LanePlan lane{std::move(schedule), plan->array.type, plan->op.reduction, std::move(offsets)};
  if (lane.schedule.scratch_slots > 0) {
    memory.push_back({plan->Staging(lane.schedule.scratch_slots * lane.largest_chunk()), 0});
  }
  plan->whole->lanes.push_back(std::move(lane));
  plan->whole->memory.push_back(std::move(memory));
}

}  // namespace

ArrayPlan::ArrayPlan(const CollectiveOp& op, int index, const GroupView& group, const PlanOptions& options,
                     GroupPlan* whole)
    : op(op),
      index(index),
      array(op.arrays[index]),
      group(group),
      options(options),
      whole(whole),
      width(ByteWidth(array.type)),
      bytes(array.elements * width),
      ranks(group.ranks()),
      members(group.members()) {
  for (int k = 0; k < members; ++k) {
    inputs.push_back({MemoryRef::kInput, k, index, 0});
    outputs.push_back({MemoryRef::kOutput, k, index, 0});
  }
}

MemoryRef ArrayPlan::Staging(int64_t size) {
  whole->staging_bytes.push_back(size);
  return {MemoryRef::kStaging, static_cast<int>(whole->staging_bytes.size()) - 1, 0, 0};
}

Rows ArrayPlan::Part(MemoryRef memory, const Blocks& blocks, int rank) const {
  const int64_t row = blocks.block_elements * width;
  return {memory + row * rank, std::max<int64_t>(row, 1), row * ranks};
}

PlacedWork ArrayPlan::CopiesToOtherMembers(int64_t size) const {
  PlacedWork work;
  for (int k = 1; k < members; ++k)
    work.Add(0, CopyJob{OnePiece(outputs[0], size), OnePiece(outputs[k], size), size});
  return work;
}

Schedule ArrayPlan::Build(CollectiveKind kind, int64_t size, int root) const {
  const int processes = static_cast<int>(group.processes.size());
  const Algorithm& algorithm =
      SelectAlgorithm(kind, {processes, size, group.hosts()}, options.algorithms, options.table);
  return algorithm.build({processes, group.self, root, group.host_of});
}

std::vector<int64_t> ArrayPlan::EvenOffsets(int64_t elements, int chunks) const {
  std::vector<int64_t> offsets = EvenChunks(elements, chunks, std::max<int64_t>(1, kCacheLine / width));
  for (int64_t& offset : offsets) offset *= width;
  return offsets;
}

std::vector<int64_t> ArrayPlan::PackedOffsets(int64_t part_bytes) const {
  std::vector<int64_t> offsets = {0};
  for (int count : group.members_of) offsets.push_back(offsets.back() + count * part_bytes);
  return offsets;
}

std::vector<int64_t> ArrayPlan::ExchangeOffsets(int64_t part_bytes) const {
  return PackedOffsets(members * part_bytes);
}

void ArrayPlan::AddLane(const Schedule& schedule, const std::vector<int64_t>& offsets,
                        const std::vector<LaneMemory>& memory) {
  const int slices = SlicesOf(schedule, offsets.back() / schedule.chunks, group.hosts());
  std::vector<int64_t> finer;
  for (size_t c = 0; c + 1 < offsets.size(); ++c) {
    std::vector<int64_t> inner = EvenOffsets((offsets[c + 1] - offsets[c]) / width, slices);
    for (int s = 0; s < slices; ++s) finer.push_back(offsets[c] + inner[s]);
  }
  finer.push_back(offsets.back());
  for (int s = 0; s < slices; ++s) {
    AddOneLane(this, slices == 1 ? schedule : SliceOf(schedule, s, slices), finer, memory);
    if (!SlicesWork(*this)) continue;
    std::vector<std::pair<int64_t, int64_t>> ranges;
    for (size_t c = s; c + 1 < finer.size(); c += slices) ranges.emplace_back(finer[c], finer[c + 1]);
    whole->work.resize(whole->lanes.size());
    for (const PlacedWork& phase : before) whole->work.back().before.push_back(phase.Within(ranges));
    for (const PlacedWork& phase : after) whole->work.back().after.push_back(phase.Within(ranges));
  }
  if (SlicesWork(*this)) return;
  for (const PlacedWork& phase : before) whole->before.push_back(phase.All());
  for (const PlacedWork& phase : after) whole->after.push_back(phase.All());
}

}  // namespace shoal

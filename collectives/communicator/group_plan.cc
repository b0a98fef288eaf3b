#include "collectives/communicator/group_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collectives/algorithms/select.h"
#include "collectives/communicator/ordered_schedule.h"
#include "collectives/communicator/placed_work.h"
#include "collectives/reduce/reduce.h"
#include "core/base/status.h"

namespace shoal {
namespace {

// Chunk edges fall on cache lines where that is possible.
constexpr int64_t kCacheLine = 64;
// At most, of a chunk that crosses the network: the first is on its way early, and the last leaves little to
// do; it goes in one piece over MPI (kEagerPieceBytes in mpi_wire.cc). Larger chunks have so many slices
// until these take a worker too long.
constexpr int64_t kSliceBytes = 60 << 10, kManySlices = 16, kLargestSliceBytes = 16 << 20;

// Adds the jobs and the lane of one array of the operation to a plan.
class ArrayPlanner {
 public:
  ArrayPlanner(const CollectiveOp& op, int array, const GroupView& group, const PlanOptions& options,
               GroupPlan* plan)
      : op_(op),
        array_(array),
        spec_(op.arrays[array]),
        group_(group),
        options_(options),
        plan_(plan),
        width_(ByteWidth(spec_.type)),
        bytes_(spec_.elements * width_),
        ranks_(group.ranks()),
        members_(group.members()) {
    for (int k = 0; k < members_; ++k) {
      inputs_.push_back({MemoryRef::kInput, k, array, 0});
      outputs_.push_back({MemoryRef::kOutput, k, array, 0});
    }
    IndexProcesses();
  }

  void AllReduce();
  void AllGather();
  void ReduceScatter();
  absl::Status AllToAll();
  void Permute();
  void Broadcast();

 private:
  // ---- names of memory
  MemoryRef Input(int member) const { return inputs_[member]; }
  MemoryRef Output(int member) const { return outputs_[member]; }
  MemoryRef Staging(int64_t bytes) {
    plan_->staging_bytes.push_back(bytes);
    return {MemoryRef::kStaging, static_cast<int>(plan_->staging_bytes.size()) - 1, 0, 0};
  }
  static MemoryRef Plus(MemoryRef ref, int64_t offset) {
    ref.offset += offset;
    return ref;
  }
  // Part `rank` of a row-major [outer, ranks, block].
  Rows Part(MemoryRef ref, const Blocks& blocks, int rank) const {
    const int64_t row = blocks.block_elements * width_;
    return {Plus(ref, row * rank), std::max<int64_t>(row, 1), row * ranks_};
  }

  void IndexProcesses();
  int processes() const { return static_cast<int>(group_.processes.size()); }
  bool Alone() const { return processes() == 1; }
  // Whether an array laid out as `blocks` is packed by process already.
  bool IsPacked(const Blocks& blocks) const { return blocks.outer <= 1 && in_order_; }
  const Algorithm& Select(CollectiveKind kind, int64_t bytes) const {
    return SelectAlgorithm(kind, {processes(), bytes, group_.hosts()}, options_.algorithms, options_.table);
  }
  Schedule Build(CollectiveKind kind, int64_t bytes, int root = 0) const {
    return Select(kind, bytes).build({processes(), group_.self, root, group_.host_of});
  }

  Phase& Before() { return plan_->before.emplace_back(); }
  // Of what no lane reads. Several members' share is worth the arena's workers, whom no lane may wait for.
  Phase& BeforeOrMeanwhile() { return (members_ > 1 ? plan_->before : plan_->meanwhile).emplace_back(); }
  bool SlicesWork() const;
  void AddLane(Schedule schedule, std::vector<int64_t> offsets, std::vector<LaneMemory> memory);
  void AddOneLane(Schedule schedule, std::vector<int64_t> offsets, std::vector<LaneMemory> memory);
  std::vector<int64_t> EvenOffsets(int64_t elements, int chunks) const;
  std::vector<int64_t> PackedOffsets(int64_t part_bytes) const;
  std::vector<int64_t> ExchangeOffsets(int64_t part_bytes) const;
  ReduceJob ReduceOf(std::vector<Rows> sources, std::vector<Rows> targets, int64_t bytes) const {
    return {spec_.type, op_.reduction, std::move(sources), std::move(targets), bytes};
  }
  PlacedWork CopiesToOtherMembers(int64_t bytes) const;
  bool RoundsTwice(const Schedule& schedule) const;
  bool IsOrderedBetter(const Schedule& schedule) const {
    return schedule.reduces_once && group_.hosts() == 1;
  }
  void ReduceInF32();
  void OrderedAllReduce();
  MemoryRef PackForScatter();
  void OrderedScatter(MemoryRef out, int64_t origin);
  void ExchangePacked(int64_t part);

  const CollectiveOp& op_;
  const int array_;
  const CollectiveArray& spec_;
  const GroupView& group_;
  const PlanOptions& options_;
  GroupPlan* const plan_;
  const int64_t width_;
  const int64_t bytes_;  // of `elements`
  const int ranks_;
  const int members_;
  std::vector<MemoryRef> inputs_, outputs_;  // by member
  std::vector<int> count_;                   // members, by process rank
  std::vector<int> packed_of_;               // position in the order of (process, rank), by rank
  std::vector<int> within_;                  // position among its process's members, by rank
  bool in_order_ = true;                     // packed_of_ is the identity
  // By pointer, phase by phase, before and after the lanes, which AddLane cuts up.
  std::vector<PlacedWork> before_, after_;
};

void ArrayPlanner::IndexProcesses() {
  count_.assign(group_.processes.size(), 0);
  for (int process : group_.process_of) ++count_[process];
  std::vector<int> next(count_.size(), 0);
  for (size_t p = 1; p < count_.size(); ++p) next[p] = next[p - 1] + count_[p - 1];
  for (int r = 0; r < ranks_; ++r) {
    const int process = group_.process_of[r];
    packed_of_.push_back(next[process]++);
    in_order_ = in_order_ && packed_of_[r] == r;
  }
}

// Whether the work by pointer is done lane by lane. In place a later lane's input could be written too early,
// unless every byte of the output comes of the input's bytes at the same place.
bool ArrayPlanner::SlicesWork() const {
  return group_.hosts() > 1 && (!options_.aliased || op_.kind == CollectiveKind::kAllReduce);
}

// Data that crosses the network goes in slices, so that one is reduced while others are under way.
void ArrayPlanner::AddLane(Schedule schedule, std::vector<int64_t> offsets, std::vector<LaneMemory> memory) {
  const int64_t chunk = offsets.back() / schedule.chunks;
  const bool slices_data = group_.hosts() > 1 && schedule.single_chunks;
  const int64_t many = std::max(kManySlices, chunk / kLargestSliceBytes);
  const int64_t wanted = (chunk + kSliceBytes - 1) / kSliceBytes;
  const int slices = slices_data ? static_cast<int>(std::clamp<int64_t>(wanted, 1, many)) : 1;
  std::vector<int64_t> finer;
  for (size_t c = 0; c + 1 < offsets.size(); ++c) {
    std::vector<int64_t> inner = EvenOffsets((offsets[c + 1] - offsets[c]) / width_, slices);
    for (int s = 0; s < slices; ++s) finer.push_back(offsets[c] + inner[s]);
  }
  finer.push_back(offsets.back());
  for (int s = 0; s < slices; ++s) {
    AddOneLane(slices == 1 ? schedule : SliceOf(schedule, s, slices), finer, memory);
    if (!SlicesWork()) continue;
    std::vector<std::pair<int64_t, int64_t>> ranges;
    for (size_t c = s; c + 1 < finer.size(); c += slices) ranges.emplace_back(finer[c], finer[c + 1]);
    plan_->work.resize(plan_->lanes.size());
    for (const PlacedWork& phase : before_) plan_->work.back().before.push_back(phase.Within(ranges));
    for (const PlacedWork& phase : after_) plan_->work.back().after.push_back(phase.Within(ranges));
  }
  if (SlicesWork()) return;
  for (const PlacedWork& phase : before_) plan_->before.push_back(phase.All());
  for (const PlacedWork& phase : after_) plan_->after.push_back(phase.All());
}

void ArrayPlanner::AddOneLane(Schedule schedule, std::vector<int64_t> offsets,
                              std::vector<LaneMemory> memory) {
  LanePlan lane{std::move(schedule), spec_.type, op_.reduction, std::move(offsets)};
  if (lane.schedule.scratch_slots > 0) {
    memory.push_back({Staging(lane.schedule.scratch_slots * lane.largest_chunk()), 0});
  }
  plan_->lanes.push_back(std::move(lane));
  plan_->memory.push_back(std::move(memory));
}

std::vector<int64_t> ArrayPlanner::EvenOffsets(int64_t elements, int chunks) const {
  std::vector<int64_t> offsets = EvenChunks(elements, chunks, std::max<int64_t>(1, kCacheLine / width_));
  for (int64_t& offset : offsets) offset *= width_;
  return offsets;
}

// Chunk j: the parts of process j's members.
std::vector<int64_t> ArrayPlanner::PackedOffsets(int64_t part_bytes) const {
  std::vector<int64_t> offsets = {0};
  for (int count : count_) offsets.push_back(offsets.back() + count * part_bytes);
  return offsets;
}

// Chunk j: a part for every pair of a member here and one of process j.
std::vector<int64_t> ArrayPlanner::ExchangeOffsets(int64_t part_bytes) const {
  std::vector<int64_t> offsets = {0};
  for (int count : count_) offsets.push_back(offsets.back() + members_ * count * part_bytes);
  return offsets;
}

PlacedWork ArrayPlanner::CopiesToOtherMembers(int64_t bytes) const {
  PlacedWork work;
  for (int k = 1; k < members_; ++k)
    work.Add(0, CopyJob{OnePiece(Output(0), bytes), OnePiece(Output(k), bytes), bytes});
  return work;
}

// ---- narrow floats: sums and products are f32's, rounded once, whoever hosts the devices

// With `schedule` sums would be rounded in the middle: among a process's members, or from step to step. The
// same answer in all processes.
bool ArrayPlanner::RoundsTwice(const Schedule& schedule) const {
  const bool rounds = op_.reduction == ReductionKind::kSum || op_.reduction == ReductionKind::kProduct;
  const bool alone = *std::max_element(count_.begin(), count_.end()) == 1;
  return IsNarrowFloat(spec_.type) && rounds && !(alone && schedule.reduces_once);
}

// The same operation on f32, between conversions. On one host all members' arrays are read where they lie
// instead; over a network that would be more bytes.
void ArrayPlanner::ReduceInF32() {
  CollectiveOp op = op_;
  op.arrays[array_].type = ElementType::kF32;
  const bool scatters = op.kind == CollectiveKind::kReduceScatter;
  PlanOptions options = options_;
  options.aliased = options_.aliased || !scatters;
  ArrayPlanner wide(op, array_, group_, options, plan_);
  const int64_t in_bytes = scatters ? wide.bytes_ * ranks_ : wide.bytes_;
  const int64_t own = scatters ? wide.PackedOffsets(wide.bytes_)[group_.self] : 0;
  PlacedWork widen, narrow;
  for (int k = 0; k < members_; ++k) {
    wide.inputs_[k] = Staging(in_bytes);
    wide.outputs_[k] = scatters ? Staging(wide.bytes_) : wide.inputs_[k];
    widen.Add(0, ConvertJob{spec_.type, /*widens=*/true, Input(k), wide.inputs_[k], in_bytes});
    narrow.Add(own + (scatters ? k * wide.bytes_ : 0),
               ConvertJob{spec_.type, /*widens=*/false, wide.outputs_[k], Output(k), wide.bytes_});
  }
  // Packed by process, what is widened lies elsewhere than in the lanes' data.
  const bool placed = !scatters || IsPacked(spec_.in);
  placed ? wide.before_.push_back(std::move(widen)) : plan_->before.push_back(widen.All());
  wide.after_.push_back(std::move(narrow));
  scatters ? wide.ReduceScatter() : wide.AllReduce();
}

// ---- all-reduce

void ArrayPlanner::AllReduce() {
  std::vector<Rows> inputs, outputs;
  for (int k = 0; k < members_; ++k) {
    inputs.push_back(OnePiece(Input(k), bytes_));
    outputs.push_back(OnePiece(Output(k), bytes_));
  }
  if (Alone()) {
    Before().reductions.push_back(ReduceOf(inputs, outputs, bytes_));
    return;
  }
  if (options_.deterministic) return OrderedAllReduce();
  Schedule schedule = Build(CollectiveKind::kAllReduce, bytes_);
  if (RoundsTwice(schedule)) {
    // What goes to everybody in one round goes as f32: to read all arrays would be two.
    const bool ordered = IsOrderedBetter(schedule) && schedule.rounds.size() > 1;
    return ordered ? OrderedAllReduce() : ReduceInF32();
  }
  MemoryRef source = Input(0);
  if (members_ > 1 || (options_.aliased && !schedule.in_place)) {
    source = schedule.in_place ? Output(0) : Staging(bytes_);
    before_.emplace_back().Add(0, ReduceOf(inputs, {OnePiece(source, bytes_)}, bytes_));
  }
  after_.insert(after_.begin(), CopiesToOtherMembers(bytes_));
  std::vector<int64_t> offsets = EvenOffsets(spec_.elements, schedule.chunks);
  AddLane(std::move(schedule), std::move(offsets), {{source, 0}, {Output(0), 0}});
}

void ArrayPlanner::OrderedAllReduce() {
  std::vector<LaneMemory> memory = {{Input(0), 0}, {Output(0), 0}, {}};
  for (int k = 0; k < members_; ++k) memory.push_back({Input(k), 0});
  after_.push_back(CopiesToOtherMembers(bytes_));
  AddLane(OrderedAllReduceSchedule(group_.process_of, group_.self),
          EvenOffsets(spec_.elements, static_cast<int>(count_.size())), std::move(memory));
}

// ---- all-gather

void ArrayPlanner::AllGather() {
  if (Alone()) {
    Phase& phase = Before();
    for (int k = 0; k < members_; ++k) {
      for (int r = 0; r < ranks_; ++r) {
        phase.copies.push_back({OnePiece(Input(r), bytes_), Part(Output(k), spec_.out, r), bytes_});
      }
    }
    return;
  }
  const bool packed = IsPacked(spec_.out);
  Schedule schedule = Build(CollectiveKind::kAllGather, bytes_ * ranks_);
  if (packed && members_ == 1 && group_.hosts() == 1 && !SendsOutput(schedule)) {
    const int64_t at = packed_of_[group_.local_ranks[0]] * bytes_;
    plan_->meanwhile.emplace_back().copies.push_back(
        {OnePiece(Input(0), bytes_), OnePiece(Plus(Output(0), at), bytes_), bytes_});
    return AddLane(std::move(schedule), PackedOffsets(bytes_), {{Input(0), at}, {Output(0), 0}});
  }
  const MemoryRef gathered = packed ? Output(0) : Staging(bytes_ * ranks_);
  PlacedWork& before = before_.emplace_back();
  for (int k = 0; k < members_; ++k) {
    const int64_t at = packed_of_[group_.local_ranks[k]] * bytes_;
    before.Add(at, CopyJob{OnePiece(Input(k), bytes_), OnePiece(Plus(gathered, at), bytes_), bytes_});
  }
  after_.push_back(packed ? CopiesToOtherMembers(bytes_ * ranks_) : PlacedWork());
  for (int k = 0; !packed && k < members_; ++k) {
    for (int r = 0; r < ranks_; ++r) {
      const int64_t at = packed_of_[r] * bytes_;
      after_.back().Add(at,
                        CopyJob{OnePiece(Plus(gathered, at), bytes_), Part(Output(k), spec_.out, r), bytes_});
    }
  }
  AddLane(std::move(schedule), PackedOffsets(bytes_), {{gathered, 0}, {gathered, 0}});
}

// ---- reduce-scatter

void ArrayPlanner::ReduceScatter() {
  if (Alone()) {
    Phase& phase = Before();
    for (int k = 0; k < members_; ++k) {
      std::vector<Rows> sources;
      for (int s = 0; s < members_; ++s) sources.push_back(Part(Input(s), spec_.in, group_.local_ranks[k]));
      Rows target = sources[0];  // rows as the sources have them, but close together
      target.base = Output(k);
      target.stride = target.row;
      phase.reductions.push_back(ReduceOf(std::move(sources), {target}, bytes_));
    }
    return;
  }
  const std::vector<int64_t> offsets = PackedOffsets(bytes_);
  const int64_t origin = offsets[group_.self];
  Schedule schedule = Build(CollectiveKind::kReduceScatter, bytes_ * ranks_);
  const bool ordered = options_.deterministic || (RoundsTwice(schedule) && IsOrderedBetter(schedule));
  if (!ordered && RoundsTwice(schedule)) return ReduceInF32();
  const MemoryRef out = members_ == 1 ? Output(0) : Staging(members_ * bytes_);
  PlacedWork after;
  for (int k = 0; members_ > 1 && k < members_; ++k) {
    after.Add(origin + k * bytes_,
              CopyJob{OnePiece(Plus(out, k * bytes_), bytes_), OnePiece(Output(k), bytes_), bytes_});
  }
  after_.insert(after_.begin(), std::move(after));
  if (ordered) {
    OrderedScatter(out, origin);
  } else {
    const MemoryRef in = PackForScatter();
    AddLane(std::move(schedule), offsets, {{in, 0}, {out, origin}});
  }
}

// The members' inputs reduced among themselves, packed by process.
MemoryRef ArrayPlanner::PackForScatter() {
  if (members_ == 1 && IsPacked(spec_.in)) return Input(0);
  const MemoryRef packed = Staging(bytes_ * ranks_);
  PlacedWork& before = before_.emplace_back();
  for (int r = 0; r < ranks_; ++r) {
    std::vector<Rows> sources;
    for (int k = 0; k < members_; ++k) sources.push_back(Part(Input(k), spec_.in, r));
    Rows target = sources[0];
    const int64_t at = packed_of_[r] * bytes_;
    target.base = Plus(packed, at);
    target.stride = target.row;
    before.Add(at, ReduceOf(std::move(sources), {target}, bytes_));
  }
  return packed;
}

void ArrayPlanner::OrderedScatter(MemoryRef out, int64_t origin) {
  std::vector<LaneMemory> memory = {{Input(0), 0}, {out, origin}, {}};
  PlacedWork& before = before_.emplace_back();
  for (int k = 0; k < members_; ++k) {
    MemoryRef in = Input(k);
    if (!IsPacked(spec_.in)) {
      in = Staging(bytes_ * ranks_);
      for (int r = 0; r < ranks_; ++r) {
        const int64_t at = packed_of_[r] * bytes_;
        before.Add(at, CopyJob{Part(Input(k), spec_.in, r), OnePiece(Plus(in, at), bytes_), bytes_});
      }
    }
    memory.push_back({in, 0});
  }
  AddLane(OrderedReduceScatterSchedule(group_.process_of, group_.self), PackedOffsets(bytes_),
          std::move(memory));
}

// ---- all-to-all

absl::Status ArrayPlanner::AllToAll() {
  if (spec_.elements % ranks_ != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        op_.name, ": ", spec_.elements, " elements do not divide among ", ranks_, " participants"));
  }
  const int64_t part = bytes_ / ranks_;
  Phase& own = Alone() ? Before() : BeforeOrMeanwhile();
  for (int s = 0; s < members_; ++s) {
    for (int d = 0; d < members_; ++d) {
      own.copies.push_back({Part(Input(s), spec_.in, group_.local_ranks[d]),
                            Part(Output(d), spec_.out, group_.local_ranks[s]), part});
    }
  }
  if (Alone()) return absl::OkStatus();
  const bool single = ranks_ == static_cast<int>(group_.processes.size());
  if (single && IsPacked(spec_.in) && IsPacked(spec_.out)) {
    AddLane(Build(CollectiveKind::kAllToAll, bytes_), ExchangeOffsets(part), {{Input(0), 0}, {Output(0), 0}});
  } else {
    ExchangePacked(part);
  }
  return absl::OkStatus();
}

// A chunk for process j holds, for every member here, a part for every member there: [here][there]; so what
// arrives from j is [there][here].
void ArrayPlanner::ExchangePacked(int64_t part) {
  const std::vector<int64_t> offsets = ExchangeOffsets(part);
  const MemoryRef sent = Staging(offsets.back()), received = Staging(offsets.back());
  PlacedWork& before = before_.emplace_back();
  PlacedWork& after = after_.emplace_back();
  for (int r = 0; r < ranks_; ++r) {
    const int process = group_.process_of[r];
    if (process == group_.self) continue;
    for (int k = 0; k < members_; ++k) {
      const int64_t to = offsets[process] + (k * count_[process] + group_.member_of[r]) * part;
      const int64_t from = offsets[process] + (group_.member_of[r] * members_ + k) * part;
      before.Add(to, CopyJob{Part(Input(k), spec_.in, r), OnePiece(Plus(sent, to), part), part});
      after.Add(from, CopyJob{OnePiece(Plus(received, from), part), Part(Output(k), spec_.out, r), part});
    }
  }
  const int64_t whole = bytes_ * *std::max_element(count_.begin(), count_.end());
  AddLane(Build(CollectiveKind::kAllToAll, whole), offsets, {{sent, 0}, {received, 0}});
}

// ---- permute and broadcast

// Buffers of the schedule: the members' inputs, then their outputs. Pairs of partitions are ranks here, for
// the group of a permute is all partitions in their order.
void ArrayPlanner::Permute() {
  std::vector<MemoryRef> sources(members_);
  Phase staged;
  for (int k = 0; k < members_; ++k) {
    sources[k] = Input(k);
    if (!options_.aliased) continue;
    sources[k] =
        Staging(bytes_);  // the output, and with it the input, may be written before the input is sent
    staged.copies.push_back({OnePiece(Input(k), bytes_), OnePiece(sources[k], bytes_), bytes_});
  }
  if (!staged.copies.empty()) plan_->before.push_back(std::move(staged));
  std::vector<bool> has_source(members_, false);
  std::vector<Step> steps;
  Phase local;
  for (const auto& [source, target] : op_.pairs) {
    const int from = group_.process_of[source.value()], to = group_.process_of[target.value()];
    const int from_member = group_.member_of[source.value()], to_member = group_.member_of[target.value()];
    if (to == group_.self) has_source[to_member] = true;
    if (from == group_.self && to == group_.self) {
      local.copies.push_back(
          {OnePiece(sources[from_member], bytes_), OnePiece(Output(to_member), bytes_), bytes_});
    } else if (from == group_.self) {
      steps.push_back({StepKind::kSend, to, {kFirstOwnBuffer + from_member}});
    } else if (to == group_.self) {
      steps.push_back({StepKind::kReceive, from, {kFirstOwnBuffer + members_ + to_member}});
    }
  }
  for (int k = 0; k < members_; ++k) {
    if (has_source[k]) continue;
    local.copies.push_back({OnePiece({MemoryRef::kZeros}, bytes_), OnePiece(Output(k), bytes_), bytes_});
  }
  plan_->before.push_back(std::move(local));
  if (Alone()) return;
  Schedule schedule{"pairs", 1};
  if (!steps.empty()) schedule.rounds.push_back(std::move(steps));
  std::vector<LaneMemory> memory(kFirstOwnBuffer);
  for (const MemoryRef& source : sources) memory.push_back({source, 0});
  for (int k = 0; k < members_; ++k) memory.push_back({Output(k), 0});
  AddLane(std::move(schedule), {0, bytes_}, std::move(memory));
}

void ArrayPlanner::Broadcast() {
  const int root = group_.process_of[0];
  if (root == group_.self) {
    Phase& phase = Before();
    for (int k = 0; k < members_; ++k)
      phase.copies.push_back({OnePiece(Input(0), bytes_), OnePiece(Output(k), bytes_), bytes_});
  }
  if (Alone()) return;
  if (root != group_.self) after_.push_back(CopiesToOtherMembers(bytes_));
  AddLane(Build(CollectiveKind::kCollectiveBroadcast, bytes_, root), {0, bytes_},
          {{Input(0), 0}, {Output(0), 0}});
}

absl::Status PlanArray(const CollectiveOp& op, int array, const GroupView& group, const PlanOptions& options,
                       GroupPlan* plan) {
  ArrayPlanner planner(op, array, group, options, plan);
  switch (op.kind) {
    case CollectiveKind::kAllReduce:
      SHOAL_RETURN_IF_ERROR(CheckReduction(op.arrays[array].type, op.reduction));
      planner.AllReduce();
      return absl::OkStatus();
    case CollectiveKind::kReduceScatter:
      SHOAL_RETURN_IF_ERROR(CheckReduction(op.arrays[array].type, op.reduction));
      planner.ReduceScatter();
      return absl::OkStatus();
    case CollectiveKind::kAllGather:
      planner.AllGather();
      return absl::OkStatus();
    case CollectiveKind::kAllToAll:
      return planner.AllToAll();
    case CollectiveKind::kRaggedAllToAll:  // planned when the sizes are known (ragged_plan.h)
      return absl::OkStatus();
    case CollectiveKind::kCollectivePermute:
      planner.Permute();
      return absl::OkStatus();
    case CollectiveKind::kCollectiveBroadcast:
      planner.Broadcast();
      return absl::OkStatus();
  }
  return absl::UnimplementedError(absl::StrCat("collective kind ", static_cast<int>(op.kind)));
}

}  // namespace

absl::StatusOr<GroupPlan> PlanGroup(const CollectiveOp& op, const GroupView& group,
                                    const PlanOptions& options) {
  GroupPlan plan;
  for (size_t array = 0; array < op.arrays.size(); ++array) {
    SHOAL_RETURN_IF_ERROR(PlanArray(op, static_cast<int>(array), group, options, &plan));
  }
  return plan;
}

}  // namespace shoal

#include "core/memory/assignment.h"

#include <algorithm>

#include "core/base/status.h"
#include "core/memory/pack.h"

namespace shoal {
namespace {

constexpr int64_t kAlignment = 64;

}  // namespace

// Joins values into buffers, then gives the buffers places.
class Assigner {
 public:
  Assigner(const Module& module, const AssignmentOptions& options, BufferAssignment& out)
      : module_(module), options_(options), out_(out), live_(out.live_) {}

  void Run() {
    MakeBuffers();
    JoinLoopState();
    JoinInPlace(Sharing::kWanted);
    JoinLoopBodies();
    JoinBranches();
    JoinResults();
    JoinDonors();
    JoinInPlace(Sharing::kAllowed);
    PlanCopies();
    Place();
    EmitCopies();
  }

 private:
  struct Buffer {
    std::vector<ValueId> values;  // by the time of their writing; no two are there at once
    bool fixed = false;  // may not be written: a parameter that is not donated, a constant, the run info
    int parameter = -1;  // leaf
    int result = -1;     // leaf
    bool has_bytes = true;
  };
  // A copy from the value's place into the buffer of another.
  struct ValueCopy {
    ValueId from, to;
  };

  struct CopyGroup {
    Time when;
    std::vector<ValueCopy> copies;
    int64_t spare_bytes;
    Slice spare;
  };

  const Value& value(ValueId id) const { return live_.value(id); }
  int Root(ValueId id) { return owner_[id.value()]; }
  Buffer& BufferOf(ValueId id) { return buffers_[Root(id)]; }

  void MakeBuffers();
  bool Conflict(const Value& a, ValueId a_id, const Value& b);
  bool MayTouch(const Instruction& at, ValueId operand_value, const Value& output);
  bool FitsBetween(ValueId id, const std::vector<ValueId>& others);
  bool Join(ValueId a, ValueId b, bool donation = false);
  void JoinInPlace(Sharing at_least);
  void JoinLoopState();
  void JoinLoopBodies();
  void JoinBranches();
  void JoinResults();
  void JoinDonors();
  void ReleaseOtherDonors(const std::vector<bool>& used, absl::Span<const ValueId> parameters);
  void PlanCopies();
  void Place();
  void PlaceConstants();
  Time HullFirst(const Value& value) const;
  void EmitCopies();
  std::vector<SliceCopy> Sequential(std::vector<SliceCopy> copies, const Slice& spare) const;
  void AddCopy(ValueId from, ValueId to, std::vector<SliceCopy>& copies) const;

  const Module& module_;
  const AssignmentOptions& options_;
  BufferAssignment& out_;
  const Liveness& live_;
  std::vector<Buffer> buffers_;
  std::vector<int> owner_;           // by value
  std::vector<int> parameter_leaf_;  // by value: the entry's parameter leaf, or -1
  std::vector<bool> donated_;        // by parameter leaf
  int parameter_count_ = 0;
  std::vector<CopyGroup> copy_groups_;  // of each loop, then of each conditional's branches
};

void Assigner::MakeBuffers() {
  const auto& values = live_.values();
  parameter_leaf_.assign(values.size(), -1);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].kind == Value::Kind::kParameter) parameter_leaf_[i] = parameter_count_++;
  }
  donated_.assign(parameter_count_, false);
  for (const auto& [result, parameter] : module_.config().aliases) donated_[parameter] = true;
  for (int64_t parameter : module_.config().donors) donated_[parameter] = true;
  buffers_.resize(values.size());
  owner_.resize(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    Buffer& buffer = buffers_[i];
    owner_[i] = static_cast<int>(i);
    buffer.values = {ValueId(static_cast<int32_t>(i))};
    buffer.parameter = parameter_leaf_[i];
    buffer.has_bytes = values[i].bytes > 0;  // a token has none
    switch (values[i].kind) {
      case Value::Kind::kConstant:
      case Value::Kind::kPartitionId:
      case Value::Kind::kReplicaId:
        buffer.fixed = true;
        break;
      case Value::Kind::kParameter:
        buffer.fixed = !donated_[buffer.parameter];
        break;
      default:
        break;
    }
  }
}

// Whether `at`, which reads `operand_value` for the last time, may write `output` over it.
bool Assigner::MayTouch(const Instruction& at, ValueId operand_value, const Value& output) {
  if (output.def != &at || output.kind != Value::Kind::kOrdinary) return false;
  const std::vector<ValueId> operands = live_.OperandValues(&at);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] == operand_value &&
        options_.share(at, static_cast<int64_t>(i), output.leaf) == Sharing::kNever) {
      return false;
    }
  }
  return true;
}

bool Assigner::Conflict(const Value& a, ValueId a_id, const Value& b) {
  if (a.last < b.first) return false;
  if (a.last > b.first) return true;
  const Instruction* at = live_.InstructionAt(b.first);
  return at == nullptr || !MayTouch(*at, a_id, b);
}

// Whether `id` conflicts with none of `others`, which lie one after another: so only with its neighbours
// could it.
bool Assigner::FitsBetween(ValueId id, const std::vector<ValueId>& others) {
  const Value& one = value(id);
  const auto next = std::lower_bound(others.begin(), others.end(), one.first,
                                     [&](ValueId other, Time t) { return value(other).first < t; });
  if (next != others.end() && (value(*next).first == one.first || Conflict(one, id, value(*next))))
    return false;
  return next == others.begin() || !Conflict(value(next[-1]), next[-1], one);
}

// Lets two values' buffers be one, if that hurts nobody. A chain of updates joins thousands, one by one:
// hence the smaller list goes into the bigger one, in order.
bool Assigner::Join(ValueId a, ValueId b, bool donation) {
  int into = Root(a), from = Root(b);
  if (into == from) return true;
  if (buffers_[into].values.size() < buffers_[from].values.size()) std::swap(into, from);
  Buffer& x = buffers_[into];
  Buffer& y = buffers_[from];
  if (x.fixed || y.fixed || !x.has_bytes || !y.has_bytes || value(a).bytes != value(b).bytes) return false;
  if ((x.parameter >= 0 && y.parameter >= 0) || (x.result >= 0 && y.result >= 0)) return false;
  // A parameter's memory becomes a result's only where the caller agreed to it.
  if (!donation && std::max(x.parameter, y.parameter) >= 0 && std::max(x.result, y.result) >= 0) return false;
  for (ValueId j : y.values) {
    if (!FitsBetween(j, x.values)) return false;
  }
  for (ValueId j : y.values) {
    owner_[j.value()] = into;
    const auto next = std::lower_bound(x.values.begin(), x.values.end(), j,
                                       [&](ValueId i, ValueId k) { return value(i).first < value(k).first; });
    x.values.insert(next, j);
  }
  x.parameter = std::max(x.parameter, y.parameter);
  x.result = std::max(x.result, y.result);
  y.values.clear();
  return true;
}

void Assigner::JoinLoopState() {
  for (const LoopLiveness& loop : live_.loops()) {
    for (const LoopLeaf& leaf : loop.leaves) {
      if (!leaf.invariant) Join(leaf.result, leaf.state);
    }
  }
}

void Assigner::JoinInPlace(Sharing at_least) {
  const auto& values = live_.values();
  for (size_t i = 0; i < values.size(); ++i) {
    const Value& output = values[i];
    if (output.kind != Value::Kind::kOrdinary || output.bytes == 0) continue;
    const std::vector<ValueId> operands = live_.OperandValues(output.def);
    for (size_t k = 0; k < operands.size(); ++k) {
      const Value& operand = value(operands[k]);
      if (operand.last != output.first || operand.bytes != output.bytes) continue;
      if (options_.share(*output.def, static_cast<int64_t>(k), output.leaf) < at_least) continue;
      if (Join(operands[k], ValueId(static_cast<int32_t>(i)))) break;
    }
  }
}

void Assigner::JoinLoopBodies() {
  for (const LoopLiveness& loop : live_.loops()) {
    for (const LoopLeaf& leaf : loop.leaves) {
      if (leaf.invariant) continue;
      Join(leaf.state, leaf.root);
      Join(leaf.state, leaf.init);
    }
  }
}

void Assigner::JoinBranches() {
  for (const BranchLiveness& branch : live_.branches()) {
    for (const auto& roots : branch.roots) {
      for (size_t i = 0; i < roots.size(); ++i) Join(branch.results[i], roots[i]);
    }
  }
}

void Assigner::JoinResults() {
  for (size_t i = 0; i < live_.results().size(); ++i) {
    Buffer& buffer = BufferOf(live_.results()[i]);
    if (buffer.fixed || buffer.result >= 0 || !buffer.has_bytes) continue;
    // A donated parameter that is handed through lies where the caller has it: only its own alias is no copy.
    if (buffer.parameter >= 0) continue;
    buffer.result = static_cast<int>(i);
  }
}

void Assigner::JoinDonors() {
  const auto& results = live_.results();
  std::vector<ValueId> parameters(parameter_count_);
  for (size_t i = 0; i < parameter_leaf_.size(); ++i) {
    if (parameter_leaf_[i] >= 0) parameters[parameter_leaf_[i]] = ValueId(static_cast<int32_t>(i));
  }
  std::vector<int>& donors = out_.result_donors_;
  donors.assign(results.size(), -1);
  // The buffer that a parameter's memory became part of may end as a result: then that result is the
  // parameter's.
  auto donate = [&](size_t result, int64_t parameter) {
    Buffer& of_result = BufferOf(results[result]);
    const int owner = of_result.result;
    if (owner >= 0 && owner != static_cast<int>(result)) return false;
    if (!Join(results[result], parameters[parameter], true)) return false;
    Buffer& joined = BufferOf(results[result]);
    joined.result = static_cast<int>(result);
    donors[result] = static_cast<int>(parameter);
    return true;
  };
  std::vector<bool> used(parameter_count_, false);
  for (const auto& [result, parameter] : module_.config().aliases) {
    if (!used[parameter] && donors[result] < 0) used[parameter] = donate(result, parameter);
  }
  for (int64_t parameter : module_.config().donors) {
    // The result that is there already, or else the first that fits.
    for (const bool there : {true, false}) {
      for (size_t i = 0; i < results.size() && !used[parameter]; ++i) {
        if (donors[i] < 0 && (!there || Root(results[i]) == Root(parameters[parameter]))) {
          used[parameter] = donate(i, parameter);
        }
      }
    }
  }
  ReleaseOtherDonors(used, parameters);
}

void Assigner::ReleaseOtherDonors(const std::vector<bool>& used, absl::Span<const ValueId> parameters) {
  const auto& results = live_.results();
  std::vector<bool> paired(results.size(), false);
  // An argument of a result's own that the result could not take.
  for (const auto& [result, parameter] : module_.config().aliases) {
    if (used[parameter] || value(parameters[parameter]).bytes == 0) continue;
    paired[result] = true;
    out_.released_parameters_.push_back(static_cast<int>(parameter));
  }
  for (int64_t parameter : module_.config().donors) {
    if (used[parameter]) continue;
    for (size_t i = 0; i < results.size(); ++i) {
      const int64_t bytes = value(results[i]).bytes;
      if (paired[i] || out_.result_donors_[i] >= 0 || bytes == 0) continue;
      if (bytes != value(parameters[parameter]).bytes) continue;
      paired[i] = true;
      out_.released_parameters_.push_back(static_cast<int>(parameter));
      break;
    }
  }
}

// The copies at the back of a loop and at the end of a branch are meant to happen at once. Where one reads a
// place that another writes (state that moves from leaf to leaf), a spare slot may be needed to order them.
void Assigner::PlanCopies() {
  for (const LoopLiveness& loop : live_.loops()) {
    CopyGroup group{loop.back, {}, 0, {}};
    for (const LoopLeaf& leaf : loop.leaves) {
      if (!leaf.invariant) group.copies.push_back({leaf.root, leaf.state});
    }
    copy_groups_.push_back(std::move(group));
  }
  for (const BranchLiveness& branch : live_.branches()) {
    for (size_t k = 0; k < branch.roots.size(); ++k) {
      CopyGroup group{branch.ends[k], {}, 0, {}};
      for (size_t i = 0; i < branch.results.size(); ++i) {
        group.copies.push_back({branch.roots[k][i], branch.results[i]});
      }
      copy_groups_.push_back(std::move(group));
    }
  }
  for (CopyGroup& group : copy_groups_) {
    auto& copies = group.copies;
    copies.erase(std::remove_if(copies.begin(), copies.end(),
                                [&](const ValueCopy& copy) { return Root(copy.from) == Root(copy.to); }),
                 copies.end());
    for (const ValueCopy& copy : copies) {
      const bool overwritten = std::any_of(copies.begin(), copies.end(), [&](const ValueCopy& other) {
        return Root(other.to) == Root(copy.from);
      });
      if (overwritten) group.spare_bytes = std::max(group.spare_bytes, value(copy.from).bytes);
    }
  }
}

// From when a value's place must not hold anything else. Copies into a place happen before the value "is".
Time Assigner::HullFirst(const Value& value) const {
  switch (value.kind) {
    case Value::Kind::kLoopState:
      return value.first - 1;
    case Value::Kind::kBranchResult:
      for (const BranchLiveness& branch : live_.branches()) {
        if (branch.conditional == value.def) return branch.ends[0];
      }
      return value.first;
    default:
      return value.first;
  }
}

void Assigner::PlaceConstants() {
  absl::flat_hash_map<absl::string_view, Slice> placed;
  std::string& block = out_.constants_;
  for (size_t i = 0; i < live_.values().size(); ++i) {
    const Value& constant = live_.values()[i];
    if (constant.kind != Value::Kind::kConstant) continue;
    const Literal& literal = constant.def->literal();
    auto [it, is_new] = placed.try_emplace(absl::string_view(literal.data(), literal.size_bytes()));
    if (is_new) {
      block.resize((block.size() + kAlignment - 1) / kAlignment * kAlignment);
      it->second = {kConstantBase, static_cast<int64_t>(block.size()), constant.bytes};
      block.append(literal.data(), literal.size_bytes());
    }
    out_.slices_[i] = it->second;
  }
}

void Assigner::Place() {
  std::vector<PackItem> items;
  std::vector<std::vector<Slice*>> places;  // of each item, all that lie there
  out_.slices_.assign(live_.values().size(), Slice());
  const int32_t first_result = kFirstParameterBase + parameter_count_;
  for (Buffer& buffer : buffers_) {
    if (buffer.values.empty()) continue;
    Slice slice{kTempBase, 0, value(buffer.values[0]).bytes};
    if (buffer.parameter >= 0) slice.base = kFirstParameterBase + buffer.parameter;
    if (buffer.parameter < 0 && buffer.result >= 0) slice.base = first_result + buffer.result;
    const Value::Kind kind = value(buffer.values[0]).kind;
    if (kind == Value::Kind::kPartitionId) slice = {kRunInfoBase, offsetof(RunInfo, partition_id), 4};
    if (kind == Value::Kind::kReplicaId) slice = {kRunInfoBase, offsetof(RunInfo, replica_id), 4};
    if (!buffer.has_bytes) slice.bytes = 0;
    std::vector<Slice*> here;
    PackItem item{slice.bytes, HullFirst(value(buffer.values[0])), value(buffer.values[0]).last};
    for (ValueId id : buffer.values) {
      out_.slices_[id.value()] = slice;
      here.push_back(&out_.slices_[id.value()]);
      item.first = std::min(item.first, HullFirst(value(id)));
      item.last = std::max(item.last, value(id).last);
    }
    if (slice.base != kTempBase || kind == Value::Kind::kConstant) continue;
    items.push_back(item);
    places.push_back(std::move(here));
  }
  std::vector<std::pair<const Instruction*, Slice>> scratch;
  for (Time t = 0; t <= live_.end() && options_.scratch_bytes != nullptr; ++t) {
    const Instruction* at = live_.InstructionAt(t);
    const int64_t bytes = at == nullptr ? 0 : options_.scratch_bytes(*at);
    if (bytes > 0) scratch.emplace_back(at, Slice{kTempBase, 0, bytes});
  }
  for (auto& [at, slice] : scratch) {
    items.push_back({slice.bytes, live_.TimeOf(at), live_.TimeOf(at)});
    places.push_back({&slice});
  }
  for (CopyGroup& group : copy_groups_) {
    group.spare = {kTempBase, 0, group.spare_bytes};
    items.push_back({group.spare_bytes, group.when, group.when});
    places.push_back({&group.spare});
  }
  const Packing packing = Pack(items, kAlignment);
  for (size_t i = 0; i < items.size(); ++i) {
    for (Slice* slice : places[i]) slice->offset = packing.offsets[i];
  }
  out_.temp_bytes_ = packing.bytes;
  out_.scratch_.insert(scratch.begin(), scratch.end());
  PlaceConstants();
}

void Assigner::AddCopy(ValueId from, ValueId to, std::vector<SliceCopy>& copies) const {
  const Slice &a = out_.slices_[from.value()], &b = out_.slices_[to.value()];
  if (a != b && b.bytes > 0) copies.push_back({a, b});
}

// Orders copies that are meant to happen at once so that none overwrites what another still has to read; a
// cycle goes through `spare`.
std::vector<SliceCopy> Assigner::Sequential(std::vector<SliceCopy> copies, const Slice& spare) const {
  std::vector<SliceCopy> done;
  while (!copies.empty()) {
    bool moved = false;
    for (size_t i = 0; i < copies.size() && !moved; ++i) {
      const bool blocked = std::any_of(copies.begin(), copies.end(), [&](const SliceCopy& other) {
        return &other != &copies[i] && other.from.Overlaps(copies[i].to);
      });
      if (blocked) continue;
      done.push_back(copies[i]);
      copies.erase(copies.begin() + static_cast<std::ptrdiff_t>(i));
      moved = true;
    }
    if (moved) continue;
    // Everything left is part of a cycle: lift one source out of the way.
    const Slice lifted{spare.base, spare.offset, copies[0].from.bytes};
    const Slice source = copies[0].from;
    done.push_back({source, lifted});
    for (SliceCopy& copy : copies) {
      if (copy.from == source) copy.from = lifted;
    }
  }
  return done;
}

void Assigner::EmitCopies() {
  auto group = copy_groups_.begin();
  auto next_group = [&] {
    std::vector<SliceCopy> copies;
    for (const ValueCopy& copy : group->copies) AddCopy(copy.from, copy.to, copies);
    return Sequential(std::move(copies), (group++)->spare);
  };
  for (const LoopLiveness& loop : live_.loops()) {
    std::vector<SliceCopy>& entry = out_.loop_entry_[loop.loop];
    for (const LoopLeaf& leaf : loop.leaves) {
      if (!leaf.invariant) AddCopy(leaf.init, leaf.state, entry);
    }
    out_.loop_back_[loop.loop] = next_group();
  }
  for (const BranchLiveness& branch : live_.branches()) {
    auto& of_branches = out_.branch_end_[branch.conditional];
    for (size_t k = 0; k < branch.roots.size(); ++k) of_branches.push_back(next_group());
  }
  for (size_t i = 0; i < live_.results().size(); ++i) {
    const Slice& from = out_.slices_[live_.results()[i].value()];
    Slice to{static_cast<int32_t>(kFirstParameterBase + parameter_count_ + i), 0, from.bytes};
    if (out_.result_donors_[i] >= 0) to.base = kFirstParameterBase + out_.result_donors_[i];
    if (from != to && to.bytes > 0) out_.at_end_.push_back({from, to});
  }
}

absl::StatusOr<BufferAssignment> BufferAssignment::Assign(const Module& module,
                                                          const AssignmentOptions& options) {
  SHOAL_ASSIGN_OR_RETURN(Liveness live, Liveness::Of(module));
  BufferAssignment assignment(std::move(live));
  Assigner(module, options, assignment).Run();
  return assignment;
}

const std::vector<SliceCopy>& BufferAssignment::Find(const CopyTable& table, const Instruction* instruction) {
  static const auto* const kNone = new std::vector<SliceCopy>();
  const auto it = table.find(instruction);
  return it == table.end() ? *kNone : it->second;
}

const std::vector<SliceCopy>& BufferAssignment::AtBranchEnd(const Instruction* conditional,
                                                            int64_t branch) const {
  return branch_end_.at(conditional)[branch];
}

Slice BufferAssignment::scratch(const Instruction* instruction) const {
  const auto it = scratch_.find(instruction);
  return it == scratch_.end() ? Slice{kTempBase, 0, 0} : it->second;
}

std::vector<Slice> BufferAssignment::OperandSlices(const Instruction* instruction) const {
  std::vector<Slice> slices;
  for (const Instruction* operand : instruction->operands()) {
    for (ValueId id : live_.ValuesOf(operand)) slices.push_back(slices_[id.value()]);
    while (operand->opcode() == Opcode::kReshape || operand->opcode() == Opcode::kBitcast)
      operand = operand->operand(0);
    if (const std::optional<int64_t> place = PlaceInParameter(*operand)) {
      slices.back().offset += *place;
      slices.back().bytes = operand->shape().ByteSize();
    }
  }
  return slices;
}

std::vector<Slice> BufferAssignment::ResultSlices(const Instruction* instruction) const {
  std::vector<Slice> slices;
  for (ValueId id : live_.ValuesOf(instruction)) slices.push_back(slices_[id.value()]);
  return slices;
}

}  // namespace shoal

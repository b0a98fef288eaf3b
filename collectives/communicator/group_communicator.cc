#include "collectives/communicator/group_communicator.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "collectives/communicator/ragged_plan.h"
#include "core/base/fingerprint.h"
#include "core/base/process_name.h"
#include "core/base/status.h"
#include "core/tasks/arena.h"

namespace shoal {
namespace {

// Runs that failed, kept so that their late participants fail at once.
constexpr size_t kFailedKept = 256;
// Runs of which it is remembered that they have ended, so that who waits for them is told.
constexpr size_t kEndedKept = 256;
// Completions of collectives that moved more than this are handed to a worker if the owner of progress brings
// them, so that what the program does next does not hold up progress; below, the hand-over would cost more
// than it saves.
constexpr int64_t kInlineCompletionBytes = 64 << 10;
// What one world keeps at most of memory to pack data in that is not used just now.
constexpr int64_t kKeptStagingBytes = 256 << 20;

uint64_t HashOf(const std::vector<int64_t>& numbers) {
  return FingerprintOfData({reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(int64_t)});
}

uint64_t HashOfAssignment(absl::Span<const DeviceId> assignment, absl::string_view own_name) {
  std::vector<int64_t> numbers = {static_cast<int64_t>(Fingerprint(own_name))};
  for (DeviceId device : assignment) numbers.push_back(device.value());
  return HashOf(numbers);
}

// Of all that participants must agree on.
uint64_t HashOfOperation(const CollectiveOp& op, absl::string_view preferences) {
  std::vector<int64_t> numbers = {static_cast<int64_t>(op.kind), static_cast<int64_t>(op.reduction),
                                  static_cast<int64_t>(Fingerprint(preferences))};
  for (const CollectiveArray& array : op.arrays) {
    numbers.insert(numbers.end(), {static_cast<int64_t>(array.type), array.elements, array.in.outer,
                                   array.in.block_elements, array.out.outer, array.out.block_elements});
  }
  for (const auto& group : op.groups) {
    numbers.push_back(static_cast<int64_t>(group.size()));
    for (PartitionId member : group) numbers.push_back(member.value());
  }
  for (const auto& [source, target] : op.pairs) {
    numbers.insert(numbers.end(), {source.value(), target.value()});
  }
  return HashOf(numbers);
}

// "partition 0", "partitions 1 4"
std::string Names(const std::vector<PartitionId>& partitions) {
  std::string names = partitions.size() == 1 ? "partition" : "partitions";
  for (PartitionId partition : partitions) absl::StrAppend(&names, " ", partition.value());
  return names;
}

// Whether every participant's output depends on every one's input.
bool NeedsAll(const CollectiveOp& op) {
  switch (op.kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
      return true;
    case CollectiveKind::kRaggedAllToAll:
    case CollectiveKind::kCollectivePermute:
    case CollectiveKind::kCollectiveBroadcast:
      return false;
  }
  return false;
}

}  // namespace

struct GroupCommunicator::Group {
  explicit Group(GroupView group_view) : view(std::move(group_view)) {}
  const GroupView view;
  std::array<GroupPlan, 2> plans;  // by aliased
};

struct GroupCommunicator::Planned {
  CollectiveOp op;
  uint64_t hash = 0;
  std::vector<std::unique_ptr<Group>> groups;  // null where this process has no member
  // By partition: which group, and which of its local members. -1 for those in none or elsewhere.
  std::vector<int> group_of, member_of;
};

struct GroupCommunicator::Meeting {
  Meeting(std::shared_ptr<const Planned> planned, const Group& group, const CollectiveKey& key,
          const Options& options)
      : planned(std::move(planned)),
        group(group),
        key(key),
        allocator(options.staging),
        workers(options.workers),
        missing(group.view.members()),
        members(missing),
        inputs(missing),
        outputs(missing),
        keepers(missing),
        promises(missing) {}
  ~Meeting() {
    for (char* memory : staging) allocator->Free(memory);
    if (!staging.empty() && allocator->Stats().bytes_cached > kKeptStagingBytes) allocator->Trim();
  }

  bool aliased() const {
    for (size_t k = 0; k < inputs.size(); ++k) {
      for (size_t a = 0; a < outputs[k].size(); ++a) {
        if (inputs[k][a] == outputs[k][a] && inputs[k][a] != nullptr) return true;
      }
    }
    return false;
  }
  // What is written after the exchange, if anything, is in place only where outputs are inputs.
  bool may_linger() const {
    const bool writes_after = !plan->after.empty() || !plan->work.empty();
    return std::find(keepers.begin(), keepers.end(), nullptr) == keepers.end() &&
           !(writes_after && aliased());
  }
  // Whether a member that is here is kept by this collective from another of the run.
  bool Precludes(const CollectiveKey& other) const {
    return std::any_of(members.begin(), members.end(), [&](const Member& member) {
      return member.order != nullptr &&
             member.order->Precludes(key.number, other.number, other.instance, other.group);
    });
  }
  // Whether a member is missing that `other`, of the same run, keeps from coming.
  bool WaitsFor(const Meeting& other) const {
    for (size_t k = 0; k < members.size(); ++k) {
      const Member* elsewhere = members[k].here ? nullptr : other.MemberOf(PartitionOf(k));
      if (elsewhere == nullptr || elsewhere->order == nullptr) continue;
      if (elsewhere->order->Precludes(other.key.number, key.number, key.instance, key.group)) return true;
    }
    return false;
  }
  PartitionId PartitionOf(size_t member) const {
    return group.view.partitions[group.view.local_ranks[member]];
  }
  std::vector<PartitionId> Here() const { return Those(true); }
  std::vector<PartitionId> Missing() const { return Those(false); }
  std::vector<PartitionId> Those(bool are_here) const {
    std::vector<PartitionId> those;
    for (size_t k = 0; k < members.size(); ++k) {
      if (members[k].here == are_here) those.push_back(PartitionOf(k));
    }
    return those;
  }
  MemoryBinding binding() const { return {input_tables, output_tables, staging}; }
  absl::Status AllocateStaging() {
    for (int64_t bytes : plan->staging_bytes) {
      const absl::StatusOr<void*> memory = allocator->Allocate(bytes, "staging");
      if (!memory.ok()) return memory.status();
      staging.push_back(static_cast<char*>(*memory));
    }
    return absl::OkStatus();
  }
  void SetAll(const absl::Status& status) {
    for (Promise& promise : promises) promise.Set(status);
  }
  void Finish(const absl::Status& status) {
    if (status.ok()) RunPhases(plan->after, binding(), workers);
    SetAll(status);
  }

  struct Member {
    bool here = false;
    const CollectiveOrder* order = nullptr;  // valid while the collective is under way
  };
  // Null if the partition is not here.
  const Member* MemberOf(PartitionId partition) const {
    const int k =
        planned->group_of[partition.value()] == key.group ? planned->member_of[partition.value()] : -1;
    return k >= 0 && members[k].here ? &members[k] : nullptr;
  }

  const std::shared_ptr<const Planned> planned;
  const Group& group;
  const CollectiveKey key;
  const std::shared_ptr<Allocator> allocator;
  const int workers;
  absl::Time start = absl::Now();  // less what has been excused since
  int missing;
  bool stay = false;  // the last to come has nothing else to do
  // By member, of whom a process of one device has one.
  absl::InlinedVector<Member, 1> members;
  absl::InlinedVector<absl::InlinedVector<const void*, 1>, 1> inputs;
  absl::InlinedVector<absl::InlinedVector<void*, 1>, 1> outputs;
  absl::InlinedVector<std::shared_ptr<const void>, 1> keepers;
  absl::InlinedVector<Promise, 1> promises;
  // From here on of the one who carries on.
  const GroupPlan* plan = nullptr;
  GroupPlan own_plan;  // where the group's does not serve all executions
  absl::InlinedVector<const void* const*, 1> input_tables;
  absl::InlinedVector<void* const*, 1> output_tables;
  absl::InlinedVector<char*, 1> staging;
  bool large = false;  // moves more than kInlineCompletionBytes
};

GroupCommunicator::GroupCommunicator(std::vector<DeviceId> assignment, const Topology& topology,
                                     Engine* engine, Options options)
    : assignment_(std::move(assignment)),
      topology_(topology),
      engine_(engine),
      options_(std::move(options)),
      id_(HashOfAssignment(assignment_, options_.own_name ? options_.algorithms : "")) {
  for (size_t p = 0; p < assignment_.size(); ++p) {
    if (topology_.ProcessOf(assignment_[p]) == topology_.self)
      local_.push_back(PartitionId(static_cast<int32_t>(p)));
  }
}

// ---- planning

absl::StatusOr<std::shared_ptr<GroupCommunicator::Planned>> GroupCommunicator::MakePlanned(
    const CollectiveOp& op) const {
  auto planned = std::make_shared<Planned>();
  planned->op = op;
  planned->hash = HashOfOperation(
      op, absl::StrCat(options_.algorithms, "\n", options_.table == nullptr ? "" : options_.table->text()));
  const int partitions = static_cast<int>(assignment_.size());
  for (const auto& [source, target] : op.pairs) {
    if (std::min(source.value(), target.value()) >= 0 &&
        std::max(source.value(), target.value()) < partitions) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(op.name, ": it sends from partition ", source.value(),
                                                   " to ", target.value(), ", the program has ", partitions));
  }
  planned->group_of.assign(partitions, -1);
  planned->member_of.assign(partitions, -1);
  std::vector<std::vector<PartitionId>> groups = op.groups;
  if (groups.empty() || op.kind == CollectiveKind::kCollectivePermute) {
    groups.assign(1, {});
    for (int p = 0; p < partitions; ++p) groups[0].push_back(PartitionId(p));
  }
  for (size_t g = 0; g < groups.size(); ++g) {
    for (PartitionId p : groups[g]) {
      if (p.value() < 0 || p.value() >= partitions) {
        return absl::InvalidArgumentError(
            absl::StrCat(op.name, ": partition ", p.value(), " is none of the program's ", partitions));
      }
    }
    auto group = std::make_unique<Group>(GroupView(groups[g], assignment_, topology_));
    if (group->view.local_ranks.empty()) {
      planned->groups.push_back(nullptr);
      continue;
    }
    for (int k = 0; k < group->view.members(); ++k) {
      const int partition = groups[g][group->view.local_ranks[k]].value();
      planned->group_of[partition] = static_cast<int>(g);
      planned->member_of[partition] = k;
    }
    for (bool aliased : {false, true}) {
      const PlanOptions options{aliased, options_.deterministic, options_.algorithms, options_.table.get()};
      SHOAL_ASSIGN_OR_RETURN(group->plans[aliased], PlanGroup(op, group->view, options));
    }
    planned->groups.push_back(std::move(group));
  }
  return planned;
}

absl::StatusOr<std::shared_ptr<GroupCommunicator::Planned>> GroupCommunicator::PlannedFor(
    const CollectiveOp& op) {
  const std::pair<uint64_t, int64_t> key(op.program_fingerprint, op.number);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto it = planned_.find(key);
    if (it != planned_.end()) {
      const CollectiveOp& old = it->second->op;
      const bool same = old.kind == op.kind && old.reduction == op.reduction && old.arrays == op.arrays &&
                        old.groups == op.groups && old.pairs == op.pairs && old.name == op.name;
      if (same) return it->second;
    }
  }
  SHOAL_ASSIGN_OR_RETURN(std::shared_ptr<Planned> planned, MakePlanned(op));
  std::lock_guard<std::mutex> lock(mutex_);
  planned_[key] = planned;
  return planned;
}

// ---- starting

absl::Status GroupCommunicator::CheckCall(const CollectiveOp& op, const CollectiveCall& call) const {
  if (call.self.value() < 0 || call.self.value() >= static_cast<int>(assignment_.size())) {
    return absl::InternalError(absl::StrCat(op.name, ": no partition ", call.self.value()));
  }
  const size_t outputs = op.kind == CollectiveKind::kRaggedAllToAll ? 1 : op.arrays.size();
  if (call.inputs.size() != op.arrays.size() || call.outputs.size() != outputs) {
    return absl::InternalError(absl::StrCat(op.name, " moves ", op.arrays.size(), " arrays, the call has ",
                                            call.inputs.size(), " inputs and ", call.outputs.size(),
                                            " outputs"));
  }
  return absl::OkStatus();
}

absl::Status GroupCommunicator::FailureOf(int64_t run) const {
  for (const FailedRun& failed : failed_) {
    if (failed.run == run) return failed.why;
  }
  return absl::OkStatus();
}

void GroupCommunicator::Expect(RunId run) {
  if (engine_ == nullptr) return;
  engine_->NoteCaller();
  std::lock_guard<std::mutex> lock(mutex_);
  asked_.Add(run.value());
}

void GroupCommunicator::Ended(RunId run, PartitionId partition) {
  std::lock_guard<std::mutex> lock(mutex_);
  ended_.push_back({run.value(), partition});
  if (ended_.size() > kEndedKept * local_.size()) ended_.pop_front();
}

bool GroupCommunicator::HasEnded(int64_t run, PartitionId partition) const {
  return std::find(ended_.begin(), ended_.end(), EndedRun{run, partition}) != ended_.end();
}

RunStage GroupCommunicator::StageOf(int64_t run) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (local_.empty() || !asked_.MayContain(run)) return RunStage::kNotAskedFor;
  const bool is_over = std::all_of(local_.begin(), local_.end(),
                                   [&](PartitionId partition) { return HasEnded(run, partition); });
  return is_over ? RunStage::kOver : RunStage::kAskedFor;
}

Future GroupCommunicator::Start(const CollectiveOp& op, const CollectiveCall& call) {
  if (absl::Status status = CheckCall(op, call); !status.ok()) return status;
  const absl::StatusOr<std::shared_ptr<Planned>> planned = PlannedFor(op);
  if (!planned.ok()) return planned.status();
  const int g = (*planned)->group_of[call.self.value()], member = (*planned)->member_of[call.self.value()];
  if (g < 0 && op.kind == CollectiveKind::kCollectiveBroadcast) {
    for (size_t i = 0; i < op.arrays.size(); ++i) {
      auto* output = static_cast<char*>(call.outputs[i]);  // null where there are no elements
      std::fill_n(output, op.arrays[i].elements * ByteWidth(op.arrays[i].type), 0);
    }
    return absl::OkStatus();
  }
  if (g < 0) {
    return absl::InternalError(absl::StrCat(op.name, ": partition ", call.self.value(), " is in no group of ",
                                            "process ", topology_.self.value()));
  }
  const Group* group = (*planned)->groups[g].get();
  const int members = group->view.members();
  const CollectiveKey key{{id_, call.run.value()}, op.number, call.instance, g};
  std::shared_ptr<Meeting> meeting;
  Future future;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!failed_.empty()) {
      if (absl::Status why = FailureOf(call.run.value()); !why.ok()) return why;
    }
    if (engine_ != nullptr) asked_.Add(call.run.value());
    std::shared_ptr<Meeting> own;  // of the only member, who meets nobody here
    std::shared_ptr<Meeting>& slot = members == 1 ? own : meetings_[key];
    if (slot == nullptr) slot = std::make_shared<Meeting>(*planned, *group, key, options_);
    if (slot->planned->hash != (*planned)->hash || slot->members[member].here) {
      return absl::FailedPreconditionError(
          absl::StrCat("participants of one process disagree in run ", call.run.value(), ": partition ",
                       call.self.value(), " starts '", op.name, "' where ",
                       slot->members[member].here ? "it has started before: '" : "others are at '",
                       slot->planned->op.name, "'"));
    }
    slot->members[member] = {true, call.order};
    slot->inputs[member].assign(call.inputs.begin(), call.inputs.end());
    slot->outputs[member].assign(call.outputs.begin(), call.outputs.end());
    slot->keepers[member] = call.keeper;
    future = slot->promises[member].future();
    if (--slot->missing > 0) return future;
    slot->stay = call.idle;
    meeting = std::move(slot);
    if (members > 1) meetings_.erase(key);
  }
  Carry(std::move(meeting));
  return future;
}

void GroupCommunicator::Carry(std::shared_ptr<Meeting> meeting) {
  for (const auto& table : meeting->inputs) meeting->input_tables.push_back(table.data());
  for (const auto& table : meeting->outputs) meeting->output_tables.push_back(table.data());
  if (meeting->planned->op.kind == CollectiveKind::kRaggedAllToAll) {
    absl::StatusOr<GroupPlan> own =
        PlanRagged(meeting->planned->op, meeting->group.view, meeting->input_tables);
    if (!own.ok()) {
      Abort(RunId(meeting->key.run.id), own.status());
      return meeting->SetAll(own.status());
    }
    meeting->own_plan = *std::move(own);
    meeting->plan = &meeting->own_plan;
  } else {
    meeting->plan = &meeting->group.plans[meeting->aliased()];
  }
  if (absl::Status allocated = meeting->AllocateStaging(); !allocated.ok()) {
    return meeting->SetAll(Annotate(allocated, absl::StrCat("no memory to pack ", NameOf(*meeting))));
  }
  RunPhases(meeting->plan->before, meeting->binding(), options_.workers);
  if (!meeting->plan->lanes.empty()) return CarryBetweenProcesses(std::move(meeting));
  meeting->Finish(absl::OkStatus());
}

void GroupCommunicator::CarryBetweenProcesses(std::shared_ptr<Meeting> meeting) {
  const GroupPlan& plan = *meeting->plan;
  ExchangeRequest request;
  const CollectiveOp& op = meeting->planned->op;
  request.announcement = {meeting->key, op.program_fingerprint, meeting->planned->hash, op.name};
  request.processes = meeting->group.view.processes;
  request.lanes = &plan.lanes;
  const MemoryBinding binding = meeting->binding();
  int64_t bytes = BytesOf(plan.after);
  for (size_t lane = 0; lane < plan.lanes.size(); ++lane) {
    auto& buffers = request.buffers.emplace_back();
    for (const LaneMemory& memory : plan.memory[lane])
      buffers.push_back({binding.At(memory.base), memory.origin});
    bytes += plan.lanes[lane].offsets.back();
  }
  meeting->large = bytes > kInlineCompletionBytes;
  const auto by_pointer = [meeting = meeting.get()](const std::vector<Phase>& phases) {
    RunPhasesAssisted(phases, meeting->binding(), meeting->workers);
  };
  if (!plan.meanwhile.empty()) request.meanwhile = [by_pointer, &plan] { by_pointer(plan.meanwhile); };
  if (!plan.work.empty()) {
    request.before = [by_pointer, &plan](int lane) { by_pointer(plan.work[lane].before); };
    request.after = [by_pointer, &plan](int lane) { by_pointer(plan.work[lane].after); };
  }
  request.needs_all = NeedsAll(op);
  request.precludes = [meeting = meeting.get()](const CollectiveKey& other) {
    return meeting->Precludes(other);
  };
  const bool stay = meeting->stay;
  if (meeting->may_linger()) request.lingers_with = meeting;
  request.done = [meeting = std::move(meeting)](const absl::Status& status, bool by_starter) {
    if (!meeting->large || by_starter) return meeting->Finish(status);
    Arena::Get().Submit([meeting, status] { meeting->Finish(status); });
  };
  engine_->Start(std::move(request), stay);
}

// ---- failures

std::string GroupCommunicator::NameOf(const Meeting& meeting) const {
  return absl::StrCat("'", meeting.planned->op.name, "' of run ", meeting.key.run.id);
}

void GroupCommunicator::RunFailed(int64_t run, const absl::Status& why) {
  std::vector<std::shared_ptr<Meeting>> broken;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!FailureOf(run).ok()) return;
    failed_.push_back({run, why});
    if (failed_.size() > kFailedKept) failed_.erase(failed_.begin());
    for (auto it = meetings_.begin(); it != meetings_.end();) {
      const auto current = it++;
      if (current->first.run.id != run) continue;
      broken.push_back(std::move(current->second));
      meetings_.erase(current);
    }
  }
  for (const auto& meeting : broken) meeting->SetAll(why);
}

void GroupCommunicator::Abort(RunId run, const absl::Status& why) {
  const absl::Status status = why.ok() ? absl::AbortedError("the run was aborted") : why;
  RunFailed(run.value(), status);
  if (engine_ != nullptr) engine_->Abort({id_, run.value()}, status);
}

void GroupCommunicator::Excuse(absl::Duration stopped) {
  if (stopped == absl::ZeroDuration()) return;
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [key, meeting] : meetings_) meeting->start += stopped;
}

void GroupCommunicator::CheckMeetings(absl::Time now) {
  std::vector<std::pair<int64_t, absl::Status>> late;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [key, meeting] : meetings_) {
      if (now - meeting->start < options_.timeout) continue;
      late.emplace_back(key.run.id, absl::DeadlineExceededError(absl::StrCat(
                                        "in process ", topology_.self.value(), " ", Names(meeting->Missing()),
                                        " did not come to ", NameOf(*meeting), " within ",
                                        absl::FormatDuration(options_.timeout))));
    }
  }
  for (const auto& [run, why] : late) Abort(RunId(run), why);
}

// If those that are here had ended the run, its number would be in use once more.
bool GroupCommunicator::MissesEnded(const Meeting& meeting) const {
  const auto has_ended = [&](PartitionId partition) { return HasEnded(meeting.key.run.id, partition); };
  const std::vector<PartitionId> here = meeting.Here(), missing = meeting.Missing();
  return std::any_of(missing.begin(), missing.end(), has_ended) &&
         std::none_of(here.begin(), here.end(), has_ended);
}

// "partition 0 is in 'all-reduce.3 f32[8]' for 1.2s, which waits for partitions 1 2"
std::string GroupCommunicator::WhoWaits(const Meeting& meeting, absl::Time now) const {
  const std::vector<PartitionId> here = meeting.Here();
  std::vector<PartitionId> ended = meeting.Missing();
  std::erase_if(ended, [&](PartitionId partition) { return !HasEnded(meeting.key.run.id, partition); });
  return absl::StrCat(Names(here), here.size() == 1 ? " is in '" : " are in '", meeting.planned->op.name,
                      "' for ", absl::FormatDuration(absl::Floor(now - meeting.start, absl::Milliseconds(1))),
                      ", which waits for ", Names(meeting.Missing()),
                      ended.empty() ? "" : absl::StrCat("; ended without it: ", Names(ended)));
}

// Of the collective asked for and those of all meetings, all of the same run.
std::vector<CollectiveKey> GroupCommunicator::Hindered(const Meeting& by, const Question& question) const {
  std::vector<CollectiveKey> hindered;
  if (by.Precludes(question.key)) hindered.push_back(question.key);
  for (const auto& [key, meeting] : meetings_) {
    if (key.run == by.key.run && by.Precludes(key)) hindered.push_back(key);
  }
  return hindered;
}

std::vector<Gathering> GroupCommunicator::GatheringsOf(const Question& question) {
  std::vector<Gathering> gatherings;
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [key, meeting] : meetings_) {
    if (key.run != question.key.run || meeting->planned->op.program_fingerprint != question.program) continue;
    gatherings.push_back({key,
                          absl::StrCat("waits for devices of its own: ", WhoWaits(*meeting, absl::Now())),
                          Hindered(*meeting, question)});
  }
  return gatherings;
}

// The largest set of meetings each of which waits for another of the set, or for who has ended the run: the
// first to end would have to come after one that has not.
void GroupCommunicator::CheckDivergence(absl::Time now) {
  absl::flat_hash_map<int64_t, std::string> stuck;  // by run: who waits where
  {
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<const Meeting*> waiting;
    for (const auto& [key, meeting] : meetings_) {
      if (now - meeting->start >= Diagnosis::kAsks) waiting.push_back(meeting.get());
    }
    for (std::vector<const Meeting*> before; before.size() != waiting.size();) {
      before = waiting;
      std::erase_if(waiting, [&](const Meeting* meeting) {
        return !MissesEnded(*meeting) &&
               std::none_of(before.begin(), before.end(), [&](const Meeting* other) {
                 return other->key.run == meeting->key.run && meeting->WaitsFor(*other);
               });
      });
    }
    for (const Meeting* meeting : waiting)
      absl::StrAppend(&stuck[meeting->key.run.id], "; ", WhoWaits(*meeting, now));
  }
  for (const auto& [run, waits] : stuck) {
    Abort(RunId(run), absl::FailedPreconditionError(absl::StrCat(ProcessName(topology_, topology_.self),
                                                                 ": its devices disagree in run ", run, waits,
                                                                 "; ", kWhyDiverged)));
  }
}

absl::Status GroupCommunicator::Health() const {
  return engine_ == nullptr ? absl::OkStatus() : engine_->Health();
}

}  // namespace shoal

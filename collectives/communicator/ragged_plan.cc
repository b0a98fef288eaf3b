#include "collectives/communicator/ragged_plan.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace shoal {
namespace {

enum InputNumber : int { kRows, kInitial, kFirst, kSent, kTarget, kReceived };

class RaggedPlanner {
 public:
  RaggedPlanner(const CollectiveOp& op, const GroupView& group, absl::Span<const void* const* const> inputs)
      : op_(op),
        group_(group),
        inputs_(inputs),
        row_bytes_(op.arrays[kRows].in.block_elements * ByteWidth(op.arrays[kRows].type)),
        pieces_(op.arrays[kFirst].elements / group.ranks()) {}

  absl::StatusOr<GroupPlan> Plan() {
    SHOAL_RETURN_IF_ERROR(Check());
    Phase& initial = plan_.before.emplace_back();
    const int64_t bytes = op_.arrays[kInitial].elements * ByteWidth(op_.arrays[kInitial].type);
    for (int k = 0; k < group_.members(); ++k) {
      initial.copies.push_back({OnePiece({MemoryRef::kInput, k, kInitial}, bytes),
                                OnePiece({MemoryRef::kOutput, k, 0}, bytes), bytes});
    }
    Phase local, after;
    for (int r = 0; r < group_.ranks(); ++r) {
      if (!group_.IsLocal(r)) continue;
      for (int t = 0; t < group_.ranks(); ++t) {
        if (group_.IsLocal(t)) SHOAL_RETURN_IF_ERROR(AddLocal(r, t, local));
      }
    }
    if (group_.processes.size() > 1) AddRemote(local, after);
    plan_.before.push_back(std::move(local));
    plan_.after.push_back(std::move(after));
    return std::move(plan_);
  }

 private:
  int64_t Number(int member, InputNumber input, int rank, int64_t piece) const {
    return static_cast<const int64_t*>(inputs_[member][input])[rank * pieces_ + piece];
  }
  MemoryRef RowsAt(int member, int64_t row) const {
    return {MemoryRef::kInput, member, kRows, row * row_bytes_};
  }
  MemoryRef ResultAt(int member, int64_t row) const {
    return {MemoryRef::kOutput, member, 0, row * row_bytes_};
  }
  void AddCopy(MemoryRef from, MemoryRef to, int64_t rows, Phase& phase) const {
    const int64_t bytes = rows * row_bytes_;
    if (bytes > 0) phase.copies.push_back({OnePiece(from, bytes), OnePiece(to, bytes), bytes});
  }

  absl::Status Check() const {
    const int64_t rows = op_.arrays[kRows].in.outer, results = op_.arrays[kInitial].in.outer;
    for (int k = 0; k < group_.members(); ++k) {
      for (int r = 0; r < group_.ranks(); ++r) {
        for (int64_t i = 0; i < pieces_; ++i) {
          const auto fits = [](int64_t first, int64_t size, int64_t all) {
            return first >= 0 && size >= 0 && size <= all && first <= all - size;
          };
          if (fits(Number(k, kFirst, r, i), Number(k, kSent, r, i), rows) &&
              fits(Number(k, kTarget, r, i), Number(k, kReceived, r, i), results)) {
            continue;
          }
          return absl::InvalidArgumentError(absl::StrCat(
              op_.name, ": partition ", group_.partitions[group_.local_ranks[k]].value(), " sends ",
              Number(k, kSent, r, i), " rows from ", Number(k, kFirst, r, i), " of ", rows, " to partition ",
              group_.partitions[r].value(), " and puts ", Number(k, kReceived, r, i), " from it at ",
              Number(k, kTarget, r, i), " of ", results));
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddLocal(int from, int to, Phase& phase) const {
    const int sender = group_.member_of[from], receiver = group_.member_of[to];
    for (int64_t i = 0; i < pieces_; ++i) {
      const int64_t sent = Number(sender, kSent, to, i), received = Number(receiver, kReceived, from, i);
      if (sent != received) {
        return absl::InvalidArgumentError(
            absl::StrCat(op_.name, ": partition ", group_.partitions[from].value(), " sends ", sent,
                         " rows to ", group_.partitions[to].value(), ", which expects ", received));
      }
      AddCopy(RowsAt(sender, Number(sender, kFirst, to, i)),
              ResultAt(receiver, Number(receiver, kTarget, from, i)), sent, phase);
    }
    return absl::OkStatus();
  }

  // Chunk j holds what goes to process j, chunk P + j what comes from it: sender by sender, and for each its
  // receivers in their order.
  void AddRemote(Phase& before, Phase& after) {
    const int processes = static_cast<int>(group_.processes.size());
    const MemoryRef sent = {MemoryRef::kStaging, 0, 0, 0}, received = {MemoryRef::kStaging, 1, 0, 0};
    std::vector<int64_t> offsets = {0};
    int64_t at = 0;
    for (int process = 0; process < processes; ++process) {
      for (int from : group_.local_ranks) {
        ForRanksOf(process, [&](int to) {
          for (int64_t i = 0; i < pieces_; ++i) {
            const int64_t rows = Number(group_.member_of[from], kSent, to, i);
            AddCopy(RowsAt(group_.member_of[from], Number(group_.member_of[from], kFirst, to, i)), sent + at,
                    rows, before);
            at += rows * row_bytes_;
          }
        });
      }
      offsets.push_back(at);
    }
    const int64_t total_sent = at;
    for (int process = 0; process < processes; ++process) {
      ForRanksOf(process, [&](int from) {
        for (int to : group_.local_ranks) {
          for (int64_t i = 0; i < pieces_; ++i) {
            const int64_t rows = Number(group_.member_of[to], kReceived, from, i);
            AddCopy(received + (at - total_sent),
                    ResultAt(group_.member_of[to], Number(group_.member_of[to], kTarget, from, i)), rows,
                    after);
            at += rows * row_bytes_;
          }
        }
      });
      offsets.push_back(at);
    }
    plan_.staging_bytes = {total_sent, at - total_sent};
    Schedule schedule{"ragged", 2 * processes};
    std::vector<Step> steps;
    for (int process = 0; process < processes; ++process) {
      if (offsets[process + 1] > offsets[process]) {
        steps.push_back({StepKind::kSend, process, {kInputBuffer, process}});
      }
      const int chunk = processes + process;
      if (offsets[chunk + 1] > offsets[chunk]) {
        steps.push_back({StepKind::kReceive, process, {kOutputBuffer, chunk}});
      }
    }
    if (!steps.empty()) schedule.rounds.push_back(std::move(steps));
    plan_.lanes.push_back({std::move(schedule), ElementType::kU8, ReductionKind::kSum, std::move(offsets)});
    plan_.memory.push_back({{sent, 0}, {received, total_sent}});
  }

  // Of other processes: what stays here has been copied.
  template <typename F>
  void ForRanksOf(int process, F f) const {
    if (process == group_.self) return;
    for (int r = 0; r < group_.ranks(); ++r) {
      if (group_.process_of[r] == process) f(r);
    }
  }

  const CollectiveOp& op_;
  const GroupView& group_;
  const absl::Span<const void* const* const> inputs_;
  const int64_t row_bytes_;
  const int64_t pieces_;  // of every pair of members
  GroupPlan plan_;
};

}  // namespace

absl::StatusOr<GroupPlan> PlanRagged(const CollectiveOp& op, const GroupView& group,
                                     absl::Span<const void* const* const> inputs) {
  return RaggedPlanner(op, group, inputs).Plan();
}

}  // namespace shoal

// Exchange: one collective of this process with others under way: schedules over a transport. A state machine
// without a thread; the engine calls it while it owns progress. Several exchanges of one run of a program may
// be under way at once.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "collectives/algorithms/schedule.h"
#include "collectives/engine/wire_format.h"
#include "collectives/transport/transport.h"
#include "core/runtime/communicator.h"

namespace shoal {

// The part of an exchange that one array has; fixed when the collective is planned.
struct LanePlan {
  Schedule schedule;
  ElementType type = ElementType::kU8;
  ReductionKind reduction = ReductionKind::kSum;
  std::vector<int64_t> offsets;  // of the chunks, in bytes, and the end
  int64_t largest_chunk() const;
};

// The memory of a ScheduleBuffer: chunk c lies at data + offsets[c] - origin.
struct LaneBuffer {
  char* data = nullptr;
  int64_t origin = 0;
};

struct ExchangeRequest {
  using Done = absl::AnyInvocable<void(const absl::Status&, bool by_starter)>;

  Announcement announcement;
  absl::Span<const ProcessId> processes;  // by rank of the schedules; stays, like the lanes
  const std::vector<LanePlan>* lanes = nullptr;
  // Of each lane, by ScheduleBuffer.
  absl::InlinedVector<absl::InlinedVector<LaneBuffer, kFirstOwnBuffer>, 1> buffers;
  // What this process does by itself for a lane before its first round and after its last, on the owner of
  // progress; null where there is nothing. The lanes begin one after the other, so that the data of the first
  // is under way while the second is worked on.
  std::function<void(int lane)> before, after;
  // What this process does by itself once it has announced itself and posted the first round; null if that is
  // nothing.
  std::function<void()> meanwhile;
  // Whether no process's part ends before all have come, whatever the schedule.
  bool needs_all = false;
  // Whether one of this process's participants, which are all in this collective, cannot come to the other,
  // of the same run, before this has ended (CollectiveOrder). Not called once `done` is. Null: nothing is
  // known.
  std::function<bool(const CollectiveKey& other)> precludes;
  // Called once, without any lock, on whatever thread makes progress; `by_starter` if that is the one that
  // started the exchange, from within Engine::Start. Keeps plan and memory alive until then.
  Done done;
  // If given, keeps them from then on, and `done` comes once all that this process gets is there, though
  // peers still read what it gives: the exchange lingers until they have.
  std::shared_ptr<const void> lingers_with;
};

// A collective between so few processes, of one array, allocates little.
inline constexpr size_t kFewRanks = 8;

class Exchange {
 public:
  // At most `helpers` workers of the arena help with large data.
  Exchange(ExchangeRequest request, Transport* transport, int helpers);
  ~Exchange();
  Exchange(const Exchange&) = delete;

  // Announces, and posts the first round: to whoever gets a message in it, in that message's frame.
  void Begin();
  // Does what completions have made possible. True once the exchange has ended, well or not.
  bool Advance();
  // Whether all that this process gets is there, and nothing is left but what peers have not taken yet.
  bool IsWhole() const { return whole_ == lanes_.size(); }
  // Whether `done` has been taken already; the exchange goes on for its peers.
  bool Lingers() const { return request_.done == nullptr; }
  // Whether a lane has not begun, so that Advance has something to do though nothing comes.
  bool HasMore() const { return status_.ok() && begun_ < lanes_.size(); }

  ExchangeRequest::Done TakeDone() { return std::exchange(request_.done, nullptr); }
  absl::Span<const ProcessId> processes() const { return request_.processes; }
  const Announcement& announcement() const { return request_.announcement; }
  ProgramRun run() const { return request_.announcement.key.run; }
  uint64_t collective() const { return collective_; }
  // Less what has been excused since.
  absl::Time start() const { return start_; }
  void Excuse(absl::Duration time) { start_ += time; }
  const absl::Status& status() const { return status_; }
  bool Involves(ProcessId process) const;
  // Checks a peer's announcement of this collective and notes that the peer is there. False if it means
  // another operation.
  bool Accept(ProcessId peer, const Announcement& theirs);
  // The peer has died or left: what was kept for its coming ends, as sends to it do.
  void NoteGone(ProcessId peer);
  // Peers whose messages are awaited now: if any of them have not even announced themselves, those alone; and
  // if no message is, those who have not taken all of ours.
  struct AwaitedPeers {
    enum What { kToCome, kToSend, kToTake };
    std::vector<ProcessId> processes;
    What what = kToCome;
  };
  AwaitedPeers Awaited() const;
  // Whether `peer` is awaited to come.
  bool Misses(ProcessId peer) const;
  // Whether this cannot end before `peer` has come, if it has not.
  bool Needs(ProcessId peer) const;
  bool Precludes(const CollectiveKey& other) const {
    return !Lingers() && request_.precludes && request_.precludes(other);
  }

 private:
  class Lane;
  struct RankState {
    bool untold = false;     // gets messages of ours, but not the announcement yet
    bool begins = false;     // gets one of them in the first round
    bool announces = false;  // sends to us, so announces itself
    bool announced = false;  // and has done so
  };

  void BeginLane();
  void Announce(int rank);

  ExchangeRequest request_;
  Transport* const transport_;
  const int helpers_;
  const uint64_t collective_;
  absl::Time start_ = absl::Now();
  absl::InlinedVector<std::unique_ptr<Lane>, 1> lanes_;  // null once ended
  size_t begun_ = 0;                                     // so many have begun, in their order
  size_t whole_ = 0, ended_ = 0;
  std::vector<char> encoded_announcement_;
  absl::InlinedVector<RankState, kFewRanks> ranks_;
  absl::Status status_;
};

}  // namespace shoal

#include "collectives/engine/exchange.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "collectives/engine/assist.h"
#include "collectives/reduce/reduce.h"
#include "collectives/reduce/stream_copy.h"
#include "core/base/status.h"

namespace shoal {
namespace {

// Bytes of one piece of a pulled message in a reduction. All sources' pieces together should stay in the
// second-level cache; the kernel copies below 64 KiB at half the speed (measured: 16 GB/s at 64 to 256 KiB, 6
// at 4 KiB).
constexpr int64_t kPiecesBytes = 768 << 10, kSmallestPiece = 64 << 10, kLargestPiece = 256 << 10;
// Receives from here on are read in pieces too, so that workers can help.
constexpr int64_t kPiecewiseReceive = 1 << 20;

// Memory of this thread; what was in it may be lost.
char* Scratch(int64_t bytes) {
  thread_local std::vector<char> scratch;
  if (static_cast<int64_t>(scratch.size()) < bytes) scratch.resize(bytes);
  return scratch.data();
}

}  // namespace

int64_t LanePlan::largest_chunk() const {
  int64_t largest = 0;
  for (size_t c = 0; c + 1 < offsets.size(); ++c) largest = std::max(largest, offsets[c + 1] - offsets[c]);
  return largest;
}

// One array's schedule under way.
class Exchange::Lane {
 public:
  Lane(Exchange* exchange, int index)
      : exchange_(exchange),
        plan_((*exchange->request_.lanes)[index]),
        buffers_(exchange->request_.buffers[index]),
        index_(index) {}

  // Ends at once if there are no rounds.
  void Begin();
  // Runs reductions whose messages are here and goes on to the next rounds; true at the end.
  bool Advance();
  // Whether nothing is left but sends that the exchange need not wait for.
  bool IsWhole() const {
    return !HasNextRound() && unfinished_ == (exchange_->request_.lingers_with != nullptr ? unsent_ : 0);
  }
  // A peer has come.
  void SendHeld(int peer);
  void AddAwaited(std::vector<bool>* ranks) const {
    AddPending(/*receiving=*/true, ranks);
    for (const Held& send : held_) (*ranks)[send.peer] = true;
  }
  void AddWhoHasNotTaken(std::vector<bool>* ranks) const { AddPending(/*receiving=*/false, ranks); }

 private:
  struct Pending final : Completion {
    void Done(const absl::Status& status) override {
      done = true;
      if (!status.ok() && lane->exchange_->status_.ok()) lane->exchange_->status_ = status;
      if (reduction >= 0 && --lane->reductions_[reduction].missing == 0) lane->ready_.push_back(reduction);
      if (reduction < 0) --lane->unfinished_;
      if (!receiving) --lane->unsent_;
    }
    Lane* lane = nullptr;
    int peer = -1;
    bool receiving = false;
    bool done = false;
    int reduction = -1;  // the position in reductions_ that waits for it
  };
  // A send of large data to a peer that has not come yet.
  struct Held {
    int peer;
    MessageTag tag;
    absl::Span<const char> data;
    Pending* pending;
  };
  // A step that needs all its messages to be readable: a reduction, or a large receive.
  struct Reduction {
    const Step* step;
    std::vector<MessageView> views;  // of the operands that are messages, in their order
    int missing = 0;
  };

  char* At(const Block& block) const {
    const LaneBuffer& buffer = buffers_[block.buffer];
    if (block.buffer == kScratchBuffer) return buffer.data + block.slot * plan_.largest_chunk();
    return buffer.data + (plan_.offsets[block.first] - buffer.origin);
  }
  int64_t Size(const Block& block) const {
    return plan_.offsets[block.first + block.count] - plan_.offsets[block.first];
  }
  MessageTag Tag(int64_t index) const {
    return {exchange_->collective_, MessageTag::Part(index_, round_, index)};
  }
  void AddPending(bool receiving, std::vector<bool>* ranks) const {
    for (const Pending& pending : pending_) {
      if (pending.receiving == receiving && !pending.done) (*ranks)[pending.peer] = true;
    }
  }
  Pending* AddPending(int peer, bool receiving, int reduction) {
    pending_.push_back({});
    Pending& pending = pending_.back();
    pending.lane = this;
    pending.peer = peer;
    pending.receiving = receiving;
    pending.reduction = reduction;
    return &pending;
  }
  ProcessId Process(int rank) const { return exchange_->request_.processes[rank]; }
  bool HasNextRound() const { return round_ + 1 < static_cast<int>(plan_.schedule.rounds.size()); }
  void StartNextRound();
  void PostReceives(const std::vector<Step>& steps);
  void PostSends(const std::vector<Step>& steps);
  void RunReduction(Reduction* reduction);
  // `bytes` bytes of a step from `begin` on. Several threads at once, on pieces apart.
  absl::Status ReceivePiece(const MessageView& message, char* target, int64_t begin, int64_t bytes) const;
  absl::Status ReducePiece(const Reduction& reduction, char* target, int64_t begin, int64_t bytes) const;
  bool PastCaches() const { return plan_.offsets.back() >= kPastCachesBytes; }

  Exchange* const exchange_;
  const LanePlan& plan_;
  const absl::Span<const LaneBuffer> buffers_;
  const int index_;
  int round_ = -1;
  int unfinished_ = 0;  // sends, receives and reductions of this round
  int unsent_ = 0;      // the sends of them
  bool was_whole_ = false;
  // As many as reserved: their addresses are with the transport.
  absl::InlinedVector<Pending, 2 * kFewRanks> pending_;
  absl::InlinedVector<Reduction, 1> reductions_;
  absl::InlinedVector<int, 1> ready_;
  std::vector<Held> held_;
};

void Exchange::Lane::Begin() {
  if (exchange_->request_.before) exchange_->request_.before(index_);
  if (HasNextRound()) StartNextRound();
}

void Exchange::Lane::StartNextRound() {
  ++round_;
  const std::vector<Step>& steps = plan_.schedule.rounds[round_];
  size_t messages = 0, reductions = 0;
  for (const Step& step : steps) {
    messages += step.kind == StepKind::kReduce ? step.operands.size() : 1;
    reductions += step.kind != StepKind::kSend;
  }
  pending_.clear();
  pending_.reserve(messages);
  reductions_.clear();
  reductions_.reserve(reductions);
  ready_.clear();
  unfinished_ = static_cast<int>(steps.size());
  unsent_ = static_cast<int>(std::count_if(steps.begin(), steps.end(),
                                           [](const Step& step) { return step.kind == StepKind::kSend; }));
  // Announcements go before the answers to the peers', and so before the data that these ask for: behind
  // data, the other direction would stand still until all of it has gone.
  PostSends(steps);
  exchange_->transport_->Knock();
  PostReceives(steps);
}

void Exchange::Lane::PostReceives(const std::vector<Step>& steps) {
  absl::InlinedVector<int64_t, kFewRanks> count(exchange_->ranks_.size(), 0);
  Transport* transport = exchange_->transport_;
  for (const Step& step : steps) {
    if (step.kind == StepKind::kSend) continue;
    const int64_t size = Size(step.block);
    if (step.kind == StepKind::kReceive &&
        (size < kPiecewiseReceive || !transport->Pulls(Process(step.peer)))) {
      transport->Receive(Process(step.peer), Tag(count[step.peer]++), absl::MakeSpan(At(step.block), size),
                         AddPending(step.peer, true, -1));
      continue;
    }
    const int number = static_cast<int>(reductions_.size());
    Reduction& reduction = reductions_.emplace_back();
    reduction.step = &step;
    absl::InlinedVector<int, 16> peers;
    if (step.kind == StepKind::kReceive) peers.push_back(step.peer);
    for (const Operand& operand : step.operands) {
      if (operand.peer >= 0) peers.push_back(operand.peer);
    }
    reduction.missing = static_cast<int>(peers.size());
    reduction.views.resize(peers.size());
    if (peers.empty()) ready_.push_back(number);
    for (size_t i = 0; i < peers.size(); ++i) {
      transport->View(Process(peers[i]), Tag(count[peers[i]]++), size, &reduction.views[i],
                      AddPending(peers[i], true, number));
    }
  }
}

// Large data is pushed once its receiver is known to be there: to ask it first, and wait for its answer
// behind other data, would leave the network idle meanwhile.
void Exchange::Lane::PostSends(const std::vector<Step>& steps) {
  absl::InlinedVector<int64_t, kFewRanks> count(exchange_->ranks_.size(), 0);
  for (const Step& step : steps) {
    if (step.kind != StepKind::kSend) continue;
    const Held send{step.peer, Tag(count[step.peer]++), absl::MakeConstSpan(At(step.block), Size(step.block)),
                    AddPending(step.peer, false, -1)};
    const ProcessId to = Process(step.peer);
    RankState& rank = exchange_->ranks_[step.peer];
    const bool push = rank.announces && exchange_->transport_->CanPush(to, Size(step.block));
    if (push && !rank.announced && !exchange_->transport_->IsGone(to)) {
      exchange_->Announce(step.peer);
      held_.push_back(send);
      continue;
    }
    const bool tells = std::exchange(rank.untold, false);
    exchange_->transport_->Send(
        to, send.tag, send.data, send.pending, push,
        tells ? absl::MakeConstSpan(exchange_->encoded_announcement_) : absl::Span<const char>());
  }
}

void Exchange::Lane::SendHeld(int peer) {
  for (const Held& send : held_) {
    if (send.peer == peer)
      exchange_->transport_->Send(Process(peer), send.tag, send.data, send.pending, /*push=*/true);
  }
  std::erase_if(held_, [peer](const Held& send) { return send.peer == peer; });
}

// Operands in this process's memory are used where they lie; the others are read piece by piece.
void Exchange::Lane::RunReduction(Reduction* reduction) {
  const Step& step = *reduction->step;
  const int64_t size = Size(step.block);
  int64_t pulled = 0;
  for (const MessageView& view : reduction->views) pulled += view.data == nullptr;
  const int64_t piece =
      std::clamp(kPiecesBytes / std::max<int64_t>(pulled, 1), kSmallestPiece, kLargestPiece) / 256 * 256;
  std::mutex mutex;
  absl::Status first_error;  // guarded by mutex
  RunAssisted((size + piece - 1) / piece, exchange_->helpers_, [&](int64_t i) {
    const int64_t begin = i * piece, bytes = std::min(piece, size - begin);
    char* target = At(step.block) + begin;
    const absl::Status status = step.kind == StepKind::kReceive
                                    ? ReceivePiece(reduction->views[0], target, begin, bytes)
                                    : ReducePiece(*reduction, target, begin, bytes);
    if (status.ok()) return;
    std::lock_guard<std::mutex> lock(mutex);
    if (first_error.ok()) first_error = status;
  });
  for (MessageView& view : reduction->views) {
    if (first_error.ok()) first_error = exchange_->transport_->CheckRead(view);
    exchange_->transport_->Release(&view);
  }
  exchange_->transport_->Knock();
  if (exchange_->status_.ok()) exchange_->status_ = first_error;
  --unfinished_;
}

absl::Status Exchange::Lane::ReceivePiece(const MessageView& message, char* target, int64_t begin,
                                          int64_t bytes) const {
  const bool past_caches = PastCaches();
  if (message.data != nullptr) {
    (past_caches ? CopyPastCaches : CopyThroughCaches)(target, message.data + begin, bytes);
    return absl::OkStatus();
  }
  char* into = past_caches ? Scratch(bytes) : target;
  const absl::Status status = exchange_->transport_->Read(message, begin, absl::MakeSpan(into, bytes));
  if (past_caches && status.ok()) CopyPastCaches(target, into, bytes);
  return status;
}

absl::Status Exchange::Lane::ReducePiece(const Reduction& reduction, char* target, int64_t begin,
                                         int64_t bytes) const {
  char* const scratch = Scratch(static_cast<int64_t>(reduction.views.size()) * bytes);
  absl::InlinedVector<const void*, 16> sources;
  size_t view = 0;
  for (const Operand& operand : reduction.step->operands) {
    if (operand.peer < 0) {
      sources.push_back(At(operand.own) + begin);
      continue;
    }
    char* slot = scratch + view * bytes;
    const MessageView& message = reduction.views[view++];
    if (message.data != nullptr) {
      sources.push_back(message.data + begin);
      continue;
    }
    SHOAL_RETURN_IF_ERROR(exchange_->transport_->Read(message, begin, absl::MakeSpan(slot, bytes)));
    sources.push_back(slot);
  }
  const int64_t width = ByteWidth(plan_.type);
  if (!PastCaches()) {
    Reduce(plan_.type, plan_.reduction, sources, target, bytes / width);
    return absl::OkStatus();
  }
  alignas(64) thread_local char sum[kPastCachesPiece];
  for (int64_t at = 0; at < bytes; at += kPastCachesPiece) {
    const int64_t n = std::min(kPastCachesPiece, bytes - at);
    Reduce(plan_.type, plan_.reduction, sources, sum, n / width);
    CopyPastCaches(target + at, sum, n);
    for (const void*& source : sources) source = static_cast<const char*>(source) + n;
  }
  return absl::OkStatus();
}

bool Exchange::Lane::Advance() {
  while (true) {
    // A reduction may write where one listed before it still reads; so they go in order of arrival, one at a
    // time.
    while (!ready_.empty() && exchange_->status_.ok()) {
      Reduction& reduction = reductions_[ready_.back()];
      ready_.pop_back();
      RunReduction(&reduction);
    }
    if (!exchange_->status_.ok()) return true;
    if (IsWhole() && !std::exchange(was_whole_, true)) {
      if (exchange_->request_.after) exchange_->request_.after(index_);
      ++exchange_->whole_;
    }
    if (unfinished_ > 0) return false;
    if (!HasNextRound()) return true;
    StartNextRound();
  }
}

Exchange::Exchange(ExchangeRequest request, Transport* transport, int helpers)
    : request_(std::move(request)),
      transport_(transport),
      helpers_(helpers),
      collective_(request_.announcement.key.Hash()),
      encoded_announcement_(Encode(request_.announcement)),
      ranks_(request_.processes.size()) {
  for (size_t i = 0; i < request_.lanes->size(); ++i) lanes_.push_back(std::make_unique<Lane>(this, i));
}

Exchange::~Exchange() = default;

void Exchange::Begin() {
  for (const LanePlan& lane : *request_.lanes) {
    for (const std::vector<Step>& round : lane.schedule.rounds) {
      for (const Step& step : round) {
        if (step.kind == StepKind::kSend) {
          ranks_[step.peer].untold = true;
          if (&round == lane.schedule.rounds.data()) ranks_[step.peer].begins = true;
        }
        if (step.kind == StepKind::kReceive) ranks_[step.peer].announces = true;
        for (const Operand& operand : step.operands) {
          if (operand.peer >= 0) ranks_[operand.peer].announces = true;
        }
      }
    }
  }
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (request_.before || !ranks_[rank].begins) Announce(static_cast<int>(rank));
  }
  transport_->Knock();
  const size_t first = request_.before ? std::min<size_t>(1, lanes_.size()) : lanes_.size();
  while (begun_ < first) BeginLane();
  transport_->Knock();
  if (request_.meanwhile) request_.meanwhile();
}

void Exchange::BeginLane() { lanes_[begun_++]->Begin(); }

void Exchange::Announce(int rank) {
  if (!std::exchange(ranks_[rank].untold, false)) return;
  transport_->SendAnnouncement(request_.processes[rank], encoded_announcement_);
}

bool Exchange::Advance() {
  for (size_t i = 0; i < begun_; ++i) {
    if (lanes_[i] == nullptr || !lanes_[i]->Advance()) continue;
    lanes_[i] = nullptr;
    ++ended_;
  }
  if (HasMore()) BeginLane();
  return ended_ == lanes_.size() || !status_.ok();
}

bool Exchange::Involves(ProcessId process) const {
  return std::find(request_.processes.begin(), request_.processes.end(), process) != request_.processes.end();
}

bool Exchange::Accept(ProcessId peer, const Announcement& theirs) {
  const Announcement& ours = request_.announcement;
  const bool fits =
      theirs.program == ours.program && theirs.operation == ours.operation && theirs.key == ours.key;
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (request_.processes[rank] != peer || ranks_[rank].announced) continue;
    ranks_[rank].announced = true;
    for (size_t lane = 0; fits && lane < begun_; ++lane) {
      if (lanes_[lane] != nullptr) lanes_[lane]->SendHeld(static_cast<int>(rank));
    }
  }
  return fits;
}

void Exchange::NoteGone(ProcessId peer) {
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    for (size_t lane = 0; request_.processes[rank] == peer && lane < begun_; ++lane) {
      if (lanes_[lane] != nullptr) lanes_[lane]->SendHeld(static_cast<int>(rank));
    }
  }
}

Exchange::AwaitedPeers Exchange::Awaited() const {
  std::vector<bool> ranks(request_.processes.size(), false);
  for (const auto& lane : lanes_) {
    if (lane != nullptr) lane->AddAwaited(&ranks);
  }
  std::vector<ProcessId> silent, slow;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank]) (ranks_[rank].announced ? slow : silent).push_back(request_.processes[rank]);
  }
  if (!silent.empty()) return {std::move(silent), AwaitedPeers::kToCome};
  if (!slow.empty()) return {std::move(slow), AwaitedPeers::kToSend};
  std::fill(ranks.begin(), ranks.end(), false);
  for (const auto& lane : lanes_) {
    if (lane != nullptr) lane->AddWhoHasNotTaken(&ranks);
  }
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank]) slow.push_back(request_.processes[rank]);
  }
  return {std::move(slow), AwaitedPeers::kToTake};
}

bool Exchange::Misses(ProcessId peer) const {
  const AwaitedPeers awaited = Awaited();
  return awaited.what == AwaitedPeers::kToCome &&
         std::find(awaited.processes.begin(), awaited.processes.end(), peer) != awaited.processes.end();
}

bool Exchange::Needs(ProcessId peer) const {
  if (request_.needs_all) return Involves(peer);
  const std::vector<ProcessId> awaited = Awaited().processes;
  return std::find(awaited.begin(), awaited.end(), peer) != awaited.end();
}

}  // namespace shoal

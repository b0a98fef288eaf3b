#include "collectives/transport/in_process_wire.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace shoal {

class InProcessWire : public Wire {
 public:
  InProcessWire(InProcessHub* hub, ProcessId self)
      : hub_(hub),
        self_(self),
        capabilities_{"in process", hub->faults_.eager_bytes, /*bulk_channel=*/hub->faults_.pushes,
                      /*rings=*/true, /*pushes=*/hub->faults_.pushes},
        told_lost_(hub->inboxes_.size(), false) {}

  const WireCapabilities& capabilities() const override { return capabilities_; }
  bool Reaches(ProcessId peer) const override { return peer != self_; }
  bool CanPull(ProcessId) const override { return !hub_->faults_.no_pull; }

  bool TrySend(ProcessId to, const FrameHeader& header, absl::Span<const char> payload) override {
    if (!CountSent()) return true;
    InProcessHub::Inbox& own = InboxOf(self_);
    if (header.kind == FrameKind::kBulk) {
      std::lock_guard<std::mutex> lock(own.mutex);
      own.live_bulks.insert(header.bulk_id);
    }
    InProcessHub::Inbox& inbox = InboxOf(to);
    {
      std::lock_guard<std::mutex> lock(inbox.mutex);
      if (inbox.dead) return true;
      if (inbox.frames.size() >= hub_->faults_.room) return false;
      inbox.frames.push_back({self_, header, {payload.begin(), payload.end()}});
    }
    std::atomic_thread_fence(std::memory_order_seq_cst);
    header.kind == FrameKind::kControl ? inbox.doorbell.Ring() : inbox.doorbell.Knock();
    return true;
  }

  void Retire(uint64_t bulk_id) override {
    std::lock_guard<std::mutex> lock(InboxOf(self_).mutex);
    InboxOf(self_).live_bulks.erase(bulk_id);
  }

  bool Poll(FrameSink* sink) override {
    InProcessHub::Inbox& inbox = InboxOf(self_);
    std::deque<InProcessHub::Frame> frames;
    {
      std::lock_guard<std::mutex> lock(inbox.mutex);
      if (inbox.dead) return false;
      frames.swap(inbox.frames);
    }
    for (const InProcessHub::Frame& frame : frames) sink->OnFrame(frame.from, frame.header, frame.payload);
    return EndBulks(sink) || !frames.empty();
  }

  void BulkSend(ProcessId to, uint64_t bulk_id, absl::Span<const char> data) override {
    sent_bulks_.push_back(bulk_id);
    if (!CountSent()) return;
    {
      std::lock_guard<std::mutex> lock(InboxOf(to).mutex);
      InboxOf(to).bulks[{self_, bulk_id}].assign(data.begin(), data.end());
    }
    InboxOf(self_).doorbell.Ring();
    InboxOf(to).doorbell.Ring();
  }
  void BulkReceive(ProcessId from, uint64_t bulk_id, absl::Span<char> into) override {
    awaited_bulks_.push_back({from, bulk_id, into});
    InboxOf(self_).doorbell.Ring();
  }
  void CancelBulkReceive(ProcessId from, uint64_t bulk_id) override {
    std::erase_if(awaited_bulks_,
                  [&](const AwaitedBulk& bulk) { return bulk.from == from && bulk.id == bulk_id; });
  }

  void FindLostPeers(FrameSink* sink) override {
    for (size_t p = 0; p < told_lost_.size(); ++p) {
      const ProcessId peer(static_cast<int>(p));
      {
        std::lock_guard<std::mutex> lock(InboxOf(peer).mutex);
        if (told_lost_[p] || peer == self_ || !InboxOf(peer).dead) continue;
      }
      told_lost_[p] = true;
      sink->OnPeerLost(peer, absl::UnavailableError(absl::StrCat("process ", p, " (in process) has ended")));
    }
  }

  // Under the sender's lock, so that it cannot retire the memory meanwhile.
  absl::Status Pull(ProcessId from, const FrameHeader& bulk, int64_t offset, absl::Span<char> into) override {
    InProcessHub::Inbox& sender = InboxOf(from);
    std::lock_guard<std::mutex> lock(sender.mutex);
    if (sender.dead || !sender.live_bulks.contains(bulk.bulk_id)) {
      return absl::AbortedError(absl::StrCat("process ", from.value(), " has given up this collective"));
    }
    std::memcpy(into.data(), reinterpret_cast<const char*>(bulk.bulk_address) + offset, into.size());
    return absl::OkStatus();
  }

 private:
  InProcessHub::Inbox& InboxOf(ProcessId process) { return *hub_->inboxes_[process.value()]; }

  struct AwaitedBulk {
    ProcessId from;
    uint64_t id;
    absl::Span<char> into;
  };

  bool EndBulks(FrameSink* sink) {
    std::vector<AwaitedBulk> here;
    {
      InProcessHub::Inbox& inbox = InboxOf(self_);
      std::lock_guard<std::mutex> lock(inbox.mutex);
      std::erase_if(awaited_bulks_, [&](const AwaitedBulk& bulk) {
        const auto it = inbox.bulks.find({bulk.from, bulk.id});
        if (it == inbox.bulks.end()) return false;
        std::memcpy(bulk.into.data(), it->second.data(), std::min(bulk.into.size(), it->second.size()));
        inbox.bulks.erase(it);
        here.push_back(bulk);
        return true;
      });
    }
    const std::vector<uint64_t> sent = std::exchange(sent_bulks_, {});
    for (const AwaitedBulk& bulk : here) sink->OnBulkReceived(bulk.from, bulk.id, absl::OkStatus());
    for (uint64_t bulk_id : sent) sink->OnBulkSent(bulk_id, absl::OkStatus());
    return !here.empty() || !sent.empty();
  }

  // False if this process is dead.
  bool CountSent() {
    InProcessHub::Inbox& own = InboxOf(self_);
    std::lock_guard<std::mutex> lock(own.mutex);
    const InProcessHub::Faults& faults = hub_->faults_;
    if (faults.dies == self_.value() && own.sent >= faults.dies_after) own.dead = true;
    ++own.sent;
    return !own.dead;
  }

  InProcessHub* const hub_;
  const ProcessId self_;
  const WireCapabilities capabilities_;
  std::vector<bool> told_lost_;
  std::vector<uint64_t> sent_bulks_;  // and not told yet
  std::vector<AwaitedBulk> awaited_bulks_;
};

InProcessHub::InProcessHub(int processes, Faults faults) : faults_(faults) {
  for (int p = 0; p < processes; ++p) inboxes_.push_back(std::make_unique<Inbox>());
}

std::unique_ptr<Wire> InProcessHub::MakeWire(ProcessId self) {
  return std::make_unique<InProcessWire>(this, self);
}

void InProcessHub::Kill(ProcessId process) {
  std::lock_guard<std::mutex> lock(inboxes_[process.value()]->mutex);
  inboxes_[process.value()]->dead = true;
}

}  // namespace shoal

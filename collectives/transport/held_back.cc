// The transport's part that holds back who sends small messages to a peer that is far behind.
#include <algorithm>
#include <utility>

#include "collectives/transport/transport.h"

namespace shoal {
namespace {

// Bytes of small messages queued for a peer that does not look for them, or kept of one's that are not wanted
// yet; and when so many of these have been taken there is room again. Little, so that whoever is held back
// goes on at the pace of the slow one, and does not let others wait for a long while.
constexpr int64_t kMostKept = 32 << 20, kRoom = 16 << 10;

}  // namespace

bool Transport::HoldsBack(ProcessId peer) const {
  return At(peer).is_full || At(peer).queued_bytes > kMostKept;
}

void Transport::Hold(ProcessId to, const MessageTag& tag, absl::Span<const char> data, Completion* done,
                     absl::Span<const char> announcement) {
  if (!announcement.empty()) SendAnnouncement(to, announcement);
  outgoing_.emplace(++last_bulk_id_, Outgoing{to, tag.collective, data, done});
  At(to).held.emplace_back(last_bulk_id_, tag);
  has_queues_ = true;
}

// In their order, as long as there is room. A cancelled one is no longer known.
bool Transport::SendHeld() {
  if (!has_queues_) return false;
  bool worked = false;
  for (size_t p = 0; p < peers_.size(); ++p) {
    const ProcessId process(static_cast<int>(p));
    while (!peers_[p].held.empty() && !HoldsBack(process)) {
      const auto [id, tag] = peers_[p].held.front();
      peers_[p].held.pop_front();
      const auto it = outgoing_.find(id);
      if (it == outgoing_.end()) continue;
      const Outgoing message = it->second;
      outgoing_.erase(it);
      SendEager(process, tag, message.data, {});
      message.done->Done(absl::OkStatus());
      worked = true;
    }
  }
  return worked;
}

void Transport::Keep(const Key& key, Arrived arrived) {
  Peer& peer = At(key.from);
  peer.arrived_bytes += arrived.bytes();
  if (const auto [it, is_new] = arrived_.try_emplace(key, std::move(arrived)); !is_new) {
    peer.arrived_bytes -= it->second.bytes();  // a corrupt frame
    it->second = std::move(arrived);
  }
  if (peer.arrived_bytes <= kMostKept || peer.was_told || IsGone(key.from)) return;
  // Who waits for something must get all that comes before it.
  if (std::any_of(wanted_.begin(), wanted_.end(), [&](const auto& w) { return w.first.from == key.from; }))
    return;
  peer.was_told = peer.is_behind = true;
  SendFrame(key.from, {FrameKind::kFull}, {});
}

void Transport::NoteTaken(ProcessId from, const Arrived& arrived) {
  Peer& peer = At(from);
  peer.arrived_bytes -= arrived.bytes();
  peer.took = true;
  peer.is_behind = peer.is_behind && peer.arrived_bytes > 0;
  if (peer.arrived_bytes <= kMostKept - kRoom) TellRoom(from);
}

void Transport::TellRoom(ProcessId peer) {
  if (std::exchange(At(peer).was_told, false) && !IsGone(peer)) SendFrame(peer, {FrameKind::kRoom}, {});
}

void Transport::TellTaken() {
  for (size_t p = 0; p < peers_.size(); ++p) {
    const ProcessId process(static_cast<int>(p));
    if (!peers_[p].is_behind || !std::exchange(peers_[p].took, false) || IsGone(process)) continue;
    SendFrame(process, {peers_[p].was_told ? FrameKind::kFull : FrameKind::kRoom}, {});
  }
}

}  // namespace shoal

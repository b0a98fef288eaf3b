#include "collectives/transport/transport.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace shoal {
namespace {

// Cancelled collectives whose late messages are dropped; older ones could cost only memory.
constexpr size_t kCancelledKept = 4096;

absl::Status WrongSize(ProcessId from, int64_t size, int64_t wanted) {
  return absl::InvalidArgumentError(
      absl::StrCat("process ", from.value(), " sent ", size, " bytes where ", wanted, " were expected"));
}

}  // namespace

Transport::Transport(int processes, std::vector<std::unique_ptr<Wire>> wires, ControlHandler on_control,
                     LostHandler on_lost)
    : wires_(std::move(wires)),
      on_control_(std::move(on_control)),
      on_lost_(std::move(on_lost)),
      peers_(processes) {
  for (const auto& wire : wires_) {
    needs_polling_ = needs_polling_ || !wire->capabilities().rings;
    for (int p = 0; p < processes; ++p) {
      if (peers_[p].wire == nullptr && wire->Reaches(ProcessId(p))) peers_[p].wire = wire.get();
    }
  }
}

Transport::~Transport() {
  for (const auto& [key, pushed] : pushed_) WireTo(key.from)->CancelBulkReceive(key.from, pushed.bulk_id);
}

bool Transport::IsEager(ProcessId peer, int64_t bytes) const {
  const Wire* wire = WireTo(peer);
  return wire != nullptr && bytes <= wire->capabilities().eager_bytes;
}

bool Transport::CanPush(ProcessId peer, int64_t bytes) const {
  const Wire* wire = WireTo(peer);
  return wire != nullptr && wire->capabilities().pushes && bytes > wire->capabilities().eager_bytes;
}

// ---- sending

void Transport::SendFrame(ProcessId to, const FrameHeader& header, absl::Span<const char> payload) {
  Peer& peer = At(to);
  if (peer.queue.empty() && peer.wire->TrySend(to, header, payload)) return;
  peer.queue.push_back({header, std::vector<char>(payload.begin(), payload.end())});
  peer.queued_bytes += peer.queue.back().bytes();
  has_queues_ = true;
}

void Transport::Send(ProcessId to, const MessageTag& tag, absl::Span<const char> data, Completion* done,
                     bool push, absl::Span<const char> announcement) {
  if (IsGone(to)) return done->Done(absl::OkStatus());
  if (IsEager(to, static_cast<int64_t>(data.size()))) {
    if (HoldsBack(to) || !At(to).held.empty()) return Hold(to, tag, data, done, announcement);
    SendEager(to, tag, data, announcement);
    return done->Done(absl::OkStatus());
  }
  FrameHeader header;
  header.kind = push ? FrameKind::kPushed : FrameKind::kBulk;
  header.length = static_cast<uint32_t>(announcement.size());
  header.tag = tag;
  header.bulk_id = ++last_bulk_id_;
  header.bulk_size = data.size();
  header.bulk_address = reinterpret_cast<uint64_t>(data.data());
  outgoing_.emplace(header.bulk_id, Outgoing{to, tag.collective, data, done, -1, /*on_channel=*/push});
  SendFrame(to, header, announcement);
  if (push) WireTo(to)->BulkSend(to, header.bulk_id, data);
}

void Transport::SendEager(ProcessId to, const MessageTag& tag, absl::Span<const char> data,
                          absl::Span<const char> announcement) {
  FrameHeader header;
  header.tag = tag;
  if (!announcement.empty() && !IsEager(to, static_cast<int64_t>(announcement.size() + data.size()))) {
    SendAnnouncement(to, announcement);
  } else if (!announcement.empty()) {
    header.front_bytes = announcement.size();
    joined_.assign(announcement.begin(), announcement.end());
    joined_.insert(joined_.end(), data.begin(), data.end());
    data = joined_;
  }
  header.length = static_cast<uint32_t>(data.size());
  SendFrame(to, header, data);
}

void Transport::SendControl(ProcessId to, absl::Span<const char> bytes, bool even_if_left) {
  const PeerState state = At(to).state;
  if (state == PeerState::kLost || (state == PeerState::kLeft && !even_if_left)) return;
  SendToEngine(to, FrameKind::kControl, bytes);
}

void Transport::SendAnnouncement(ProcessId to, absl::Span<const char> bytes) {
  if (!IsGone(to)) SendToEngine(to, FrameKind::kAnnouncement, bytes);
}

void Transport::SendToEngine(ProcessId to, FrameKind kind, absl::Span<const char> bytes) {
  FrameHeader header;
  header.kind = kind;
  header.length = static_cast<uint32_t>(bytes.size());
  SendFrame(to, header, bytes);
}

// Receivers have asked for the data of bulks. A cancelled one is no longer known; its receiver has been told
// by other means.
void Transport::StartSending() {
  for (const uint64_t bulk_id : asked_for_) {
    const auto it = outgoing_.find(bulk_id);
    if (it == outgoing_.end()) continue;
    Wire* wire = WireTo(it->second.to);
    if (wire->capabilities().bulk_channel) {
      it->second.on_channel = true;
      wire->BulkSend(it->second.to, bulk_id, it->second.data);
    } else {
      it->second.streamed = 0;
    }
  }
  asked_for_.clear();
}

bool Transport::FlushQueues() {
  if (!std::exchange(has_queues_, false)) return false;
  bool worked = false;
  for (size_t p = 0; p < peers_.size(); ++p) {
    Peer& peer = peers_[p];
    const auto send_first = [&] {
      const Queued& first = peer.queue.front();
      return peer.wire->TrySend(ProcessId(p), first.header, first.payload);
    };
    while (!peer.queue.empty() && send_first()) {
      peer.queued_bytes -= peer.queue.front().bytes();
      peer.queue.pop_front();
      worked = true;
    }
    has_queues_ = has_queues_ || !peer.queue.empty() || !peer.held.empty();
  }
  return worked;
}

// Pushes pieces of the bulks that were asked for, as far as their wires have room.
bool Transport::Stream() {
  bool worked = false;
  std::vector<uint64_t> finished;
  for (auto& [id, bulk] : outgoing_) {
    if (bulk.streamed < 0 || !At(bulk.to).queue.empty()) continue;
    Wire* wire = WireTo(bulk.to);
    const int64_t size = static_cast<int64_t>(bulk.data.size());
    while (bulk.streamed < size) {
      FrameHeader header;
      header.kind = FrameKind::kBulkData;
      header.bulk_id = id;
      header.piece_offset = bulk.streamed;
      header.length = static_cast<uint32_t>(std::min(wire->capabilities().eager_bytes, size - bulk.streamed));
      if (!wire->TrySend(bulk.to, header, bulk.data.subspan(bulk.streamed, header.length))) break;
      bulk.streamed += header.length;
      worked = true;
    }
    if (bulk.streamed == size) finished.push_back(id);
  }
  for (uint64_t id : finished) OnBulkSent(id, absl::OkStatus());
  return worked;
}

void Transport::OnBulkSent(uint64_t bulk_id, const absl::Status& status) {
  const auto it = outgoing_.find(bulk_id);
  if (it == outgoing_.end()) return;
  WireTo(it->second.to)->Retire(bulk_id);
  Completion* done = it->second.done;
  outgoing_.erase(it);
  done->Done(status);
}

// ---- receiving

void Transport::Receive(ProcessId from, const MessageTag& tag, absl::Span<char> into, Completion* done) {
  Want(from, tag, {into, nullptr, static_cast<int64_t>(into.size()), done});
}

void Transport::View(ProcessId from, const MessageTag& tag, int64_t size, MessageView* view,
                     Completion* done) {
  view->data = nullptr;
  view->bulk.bulk_id = 0;
  Want(from, tag, {{}, view, size, done});
}

void Transport::Want(ProcessId from, const MessageTag& tag, Wanted wanted) {
  const Key key{from, tag};
  if (const auto it = arrived_.find(key); it != arrived_.end()) {
    Arrived arrived = std::move(it->second);
    arrived_.erase(it);
    NoteTaken(from, arrived);
    return MatchArrived(from, std::move(arrived), wanted);
  }
  if (const auto it = pushed_.find(key); it != pushed_.end()) {
    it->second.wanted = wanted;
    return;
  }
  if (IsGone(from)) return wanted.done->Done(At(from).why_gone);
  wanted_.emplace(key, wanted);
  TellRoom(from);  // it may be behind what is held back
}

void Transport::Match(ProcessId from, absl::Span<const char> payload, const Wanted& wanted) {
  const int64_t size = static_cast<int64_t>(payload.size());
  if (size != wanted.size) return wanted.done->Done(WrongSize(from, size, wanted.size));
  char* into = wanted.into.data();
  if (wanted.view != nullptr) {
    wanted.view->storage = pool_.Take(size);
    wanted.view->data = into = wanted.view->storage.bytes.get();
  }
  if (size > 0) std::memcpy(into, payload.data(), size);
  wanted.done->Done(absl::OkStatus());
}

void Transport::MatchArrived(ProcessId from, Arrived arrived, const Wanted& wanted) {
  if (!arrived.status.ok()) return wanted.done->Done(arrived.status);
  if (arrived.header.kind == FrameKind::kBulk) return MatchBulk(from, arrived.header, wanted);
  const bool pushed = arrived.header.kind == FrameKind::kPushed;
  const int64_t size = static_cast<int64_t>(pushed ? arrived.header.bulk_size : arrived.header.length);
  if (wanted.view != nullptr && size == wanted.size) {
    wanted.view->storage = std::move(arrived.payload);
    wanted.view->data = wanted.view->storage.bytes.get();
    return wanted.done->Done(absl::OkStatus());
  }
  Match(from, {arrived.payload.bytes.get(), static_cast<size_t>(size)}, wanted);
  pool_.Give(std::move(arrived.payload));
}

void Transport::MatchBulk(ProcessId from, const FrameHeader& header, const Wanted& wanted) {
  Wire* wire = WireTo(from);
  MessageView* view = wanted.view;
  const int64_t size = static_cast<int64_t>(header.bulk_size);
  if (size != wanted.size) {
    FinishBulk(from, header.bulk_id);
    return wanted.done->Done(WrongSize(from, size, wanted.size));
  }
  if (wire->CanPull(from)) {
    if (view != nullptr) {
      view->from = from;
      view->data = wire->Mapped(from, header);
      view->bulk = header;
      view->wire = wire;
      return wanted.done->Done(absl::OkStatus());
    }
    const absl::Status status = wire->Pull(from, header, 0, wanted.into);
    FinishBulk(from, header.bulk_id);
    return wanted.done->Done(status);
  }
  if (At(from).state == PeerState::kLost) return wanted.done->Done(At(from).why_gone);
  absl::Span<char> into = wanted.into;
  if (view != nullptr) {
    view->storage = pool_.Take(size);
    view->data = view->storage.bytes.get();
    into = absl::MakeSpan(view->storage.bytes.get(), size);
  }
  const Incoming incoming{header.tag.collective, into, size, wanted.done};
  if (!incoming_.emplace(std::pair(from, header.bulk_id), incoming).second) {
    return wanted.done->Done(absl::InternalError(
        absl::StrCat("process ", from.value(), " announced two messages by one number, ", header.bulk_id)));
  }
  if (wire->capabilities().bulk_channel) wire->BulkReceive(from, header.bulk_id, into);
  FrameHeader ready;
  ready.kind = FrameKind::kBulkReady;
  ready.bulk_id = header.bulk_id;
  SendFrame(from, ready, {});
}

void Transport::FinishBulk(ProcessId from, uint64_t bulk_id) {
  if (At(from).state == PeerState::kLost) return;
  FrameHeader header;
  header.kind = FrameKind::kBulkDone;
  header.bulk_id = bulk_id;
  SendFrame(from, header, {});
}

absl::Status Transport::Read(const MessageView& view, int64_t offset, absl::Span<char> into) const {
  if (view.data == nullptr) return view.wire->Pull(view.from, view.bulk, offset, into);
  std::memcpy(into.data(), view.data + offset, into.size());
  return absl::OkStatus();
}

void Transport::Release(MessageView* view) {
  if (view->bulk.bulk_id != 0) FinishBulk(view->from, view->bulk.bulk_id);
  view->bulk.bulk_id = 0;
  view->data = nullptr;
  pool_.Give(std::move(view->storage));
}

// The data goes to memory of ours, for what it is wanted for may be given up before it is here.
void Transport::TakePushed(ProcessId from, const FrameHeader& header) {
  const Key key{from, header.tag};
  if (!WireTo(from)->capabilities().pushes || pushed_.contains(key)) return;  // not ours: a corrupt frame
  Pushed pushed{header.bulk_id, header, pool_.Take(header.bulk_size)};
  pushed.dropped = cancelled_.contains(header.tag.collective);
  if (const auto it = wanted_.find(key); it != wanted_.end()) {
    pushed.wanted = it->second;
    wanted_.erase(it);
  }
  const bool has_memory = pushed.buffer.bytes != nullptr;
  const absl::Span<char> into(pushed.buffer.bytes.get(), header.bulk_size);
  pushed_.emplace(key, std::move(pushed));
  if (has_memory) return WireTo(from)->BulkReceive(from, header.bulk_id, into);
  EndPushed(from, header.bulk_id,
            absl::ResourceExhaustedError(absl::StrCat("no memory for the ", header.bulk_size,
                                                      " bytes that process ", from.value(), " sends")));
}

// False if it is no pushed bulk.
bool Transport::EndPushed(ProcessId from, uint64_t bulk_id, const absl::Status& status) {
  const auto it = std::find_if(pushed_.begin(), pushed_.end(), [&](const auto& item) {
    return item.first.from == from && item.second.bulk_id == bulk_id;
  });
  if (it == pushed_.end()) return false;
  const Key key = it->first;
  Pushed pushed = std::move(it->second);
  pushed_.erase(it);
  Arrived arrived{pushed.header, std::move(pushed.buffer), status};
  if (pushed.dropped) {
    pool_.Give(std::move(arrived.payload));
  } else if (pushed.wanted.done != nullptr) {
    MatchArrived(from, std::move(arrived), pushed.wanted);
  } else {
    Keep(key, std::move(arrived));
  }
  return true;
}

void Transport::TakePiece(ProcessId from, const FrameHeader& header, absl::Span<const char> payload) {
  const auto it = incoming_.find({from, header.bulk_id});
  if (it == incoming_.end()) return;  // cancelled
  Incoming& incoming = it->second;
  const size_t size = incoming.into.size();
  if (payload.size() > size || header.piece_offset > size - payload.size())
    return;  // not ours: a corrupt frame
  std::memcpy(incoming.into.data() + header.piece_offset, payload.data(), payload.size());
  incoming.missing -= static_cast<int64_t>(payload.size());
  if (incoming.missing == 0) OnBulkReceived(from, header.bulk_id, absl::OkStatus());
}

void Transport::OnBulkReceived(ProcessId from, uint64_t bulk_id, const absl::Status& status) {
  if (EndPushed(from, bulk_id, status)) return;
  const auto it = incoming_.find({from, bulk_id});
  if (it == incoming_.end()) return;
  Completion* done = it->second.done;
  incoming_.erase(it);
  done->Done(status);
}

// Hands on what is in front of a message for the engine. False if the frame is corrupt.
bool Transport::TakeAnnouncement(ProcessId from, const FrameHeader& header, absl::Span<const char>* payload) {
  const uint64_t size = header.kind == FrameKind::kEager ? header.front_bytes : payload->size();
  if (size > payload->size()) return false;
  if (size > 0) on_control_(from, payload->first(size));
  payload->remove_prefix(size);
  return true;
}

// A whole message, or the announcement of a bulk; `payload` is the message's alone.
void Transport::TakeMessage(ProcessId from, const FrameHeader& header, absl::Span<const char> payload) {
  const bool is_bulk = header.kind == FrameKind::kBulk;
  if (cancelled_.contains(header.tag.collective)) {
    if (is_bulk) FinishBulk(from, header.bulk_id);
    return;
  }
  const Key key{from, header.tag};
  if (const auto it = wanted_.find(key); it != wanted_.end()) {
    const Wanted wanted = it->second;
    wanted_.erase(it);
    return is_bulk ? MatchBulk(from, header, wanted) : Match(from, payload, wanted);
  }
  Arrived arrived{header, {}};
  if (!is_bulk) {
    arrived.header.length = static_cast<uint32_t>(payload.size());
    arrived.payload = pool_.Take(payload.size());
    if (!payload.empty()) std::memcpy(arrived.payload.bytes.get(), payload.data(), payload.size());
  }
  Keep(key, std::move(arrived));
}

void Transport::OnFrame(ProcessId from, const FrameHeader& header, absl::Span<const char> payload) {
  switch (header.kind) {
    case FrameKind::kEager:
    case FrameKind::kBulk:
      if (TakeAnnouncement(from, header, &payload)) TakeMessage(from, header, payload);
      return;
    case FrameKind::kPushed:
      TakeAnnouncement(from, header, &payload);
      return TakePushed(from, header);
    case FrameKind::kBulkDone:
      At(from).has_taken = true;
      return OnBulkSent(header.bulk_id, absl::OkStatus());
    case FrameKind::kBulkReady:
      At(from).has_taken = true;
      asked_for_.push_back(header.bulk_id);  // behind the answers to what came with it
      return;
    case FrameKind::kBulkData:
      return TakePiece(from, header, payload);
    case FrameKind::kControl:
    case FrameKind::kAnnouncement:
      return on_control_(from, payload);
    case FrameKind::kFull:
    case FrameKind::kRoom:
      At(from).is_full = header.kind == FrameKind::kFull;
      At(from).has_taken = true;
      return;
  }
}

// ---- the rest

void Transport::Knock() {
  for (const auto& wire : wires_) wire->Knock();
}

bool Transport::Poll() {
  bool worked = FlushQueues();
  for (const auto& wire : wires_) worked = wire->Poll(this) || worked;
  StartSending();
  worked = Stream() || worked;
  worked = SendHeld() || worked;
  Knock();
  return worked;
}

bool Transport::HasBacklog(bool even_if_left) const {
  const auto waits = [even_if_left](const Peer& peer) {
    return !(peer.queue.empty() && peer.held.empty()) && (even_if_left || peer.state == PeerState::kThere);
  };
  if (has_queues_ && std::any_of(peers_.begin(), peers_.end(), waits)) return true;
  const auto streams = [](const auto& item) { return item.second.streamed >= 0; };
  return std::any_of(outgoing_.begin(), outgoing_.end(), streams);
}

bool Transport::MovesBulk() const {
  const auto sends = [](const auto& item) { return item.second.on_channel; };
  return !incoming_.empty() || !pushed_.empty() || std::any_of(outgoing_.begin(), outgoing_.end(), sends);
}

void Transport::FindLostPeers() {
  for (const auto& wire : wires_) wire->FindLostPeers(this);
}

void Transport::TakeWanted(Which which, std::vector<Completion*>* taken) {
  absl::erase_if(wanted_, [&](const auto& item) {
    if (!which(item.first.from, item.first.tag.collective)) return false;
    taken->push_back(item.second.done);
    return true;
  });
}

void Transport::TakeIncoming(Which which, std::vector<Completion*>* taken) {
  for (auto it = incoming_.begin(); it != incoming_.end();) {
    const auto current = it++;
    const auto [from, bulk_id] = current->first;
    if (!which(from, current->second.collective)) continue;
    WireTo(from)->CancelBulkReceive(from, bulk_id);
    taken->push_back(current->second.done);
    incoming_.erase(current);
  }
}

void Transport::TakeOutgoing(Which which, std::vector<Completion*>* taken) {
  for (auto it = outgoing_.begin(); it != outgoing_.end();) {
    const auto current = it++;
    const Outgoing& bulk = current->second;
    if (!which(bulk.to, bulk.collective)) continue;
    WireTo(bulk.to)->Retire(current->first);
    WireTo(bulk.to)->CancelBulkSend(current->first);
    taken->push_back(bulk.done);
    outgoing_.erase(current);
  }
}

// What it is sending still comes. What it had asked for it has, or wants no more.
void Transport::PeerLeft(ProcessId peer, const absl::Status& why) {
  if (IsGone(peer)) return;
  At(peer).state = PeerState::kLeft;
  At(peer).why_gone = why;
  const auto of_peer = [peer](ProcessId process, uint64_t) { return process == peer; };
  std::vector<Completion*> failed, ended;
  TakeWanted(of_peer, &failed);
  TakeOutgoing(of_peer, &ended);
  for (Completion* done : failed) done->Done(why);
  for (Completion* done : ended) done->Done(absl::OkStatus());
}

void Transport::OnPeerLost(ProcessId peer, const absl::Status& why) {
  if (At(peer).state == PeerState::kLost) return;
  const bool is_new = !IsGone(peer);
  At(peer).state = PeerState::kLost;
  if (is_new) At(peer).why_gone = why;
  for (const auto& wire : wires_) wire->Poll(this);  // what it sent before it went still counts
  At(peer).queue.clear();
  At(peer).queued_bytes = 0;
  const auto of_peer = [peer](ProcessId process, uint64_t) { return process == peer; };
  std::vector<Completion*> failed, ended;
  TakeWanted(of_peer, &failed);
  TakeIncoming(of_peer, &failed);
  absl::erase_if(pushed_, [&](const auto& item) {
    if (item.first.from != peer) return false;
    WireTo(peer)->CancelBulkReceive(peer, item.second.bulk_id);
    if (item.second.wanted.done != nullptr) failed.push_back(item.second.wanted.done);
    return true;
  });
  TakeOutgoing(of_peer, &ended);
  for (Completion* done : failed) done->Done(why);
  for (Completion* done : ended) done->Done(absl::OkStatus());
  if (is_new) on_lost_(peer, why);
}

void Transport::Cancel(uint64_t collective) {
  if (cancelled_.insert(collective).second) cancelled_order_.push_back(collective);
  if (cancelled_order_.size() > kCancelledKept) {
    cancelled_.erase(cancelled_order_.front());
    cancelled_order_.pop_front();
  }
  const auto of_collective = [collective](ProcessId, uint64_t its) { return its == collective; };
  std::vector<Completion*> untold;
  TakeWanted(of_collective, &untold);
  for (auto it = arrived_.begin(); it != arrived_.end();) {
    const auto current = it++;
    if (current->first.tag.collective != collective) continue;
    if (current->second.header.kind == FrameKind::kBulk) {
      FinishBulk(current->first.from, current->second.header.bulk_id);
    }
    NoteTaken(current->first.from, current->second);
    pool_.Give(std::move(current->second.payload));
    arrived_.erase(current);
  }
  for (auto& [key, pushed] : pushed_) {  // what is on its way must come somewhere
    if (key.tag.collective != collective) continue;
    pushed.wanted.done = nullptr;
    pushed.dropped = true;
  }
  TakeOutgoing(of_collective, &untold);
  TakeIncoming(of_collective, &untold);
  for (Peer& peer : peers_) {
    std::erase_if(peer.queue, [&](const Queued& queued) {
      const bool is_its =
          queued.header.kind == FrameKind::kBulk && queued.header.tag.collective == collective;
      if (is_its) peer.queued_bytes -= queued.bytes();
      return is_its;
    });
  }
}

}  // namespace shoal

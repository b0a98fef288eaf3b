// Transport: tagged messages of any size between the processes of a job, over whichever wire reaches a peer.
//
// Small messages travel whole and wait at the receiver until wanted, up to some tens of MiB: then it says so,
// and the sender holds the next ones back until there is room, or until the receiver wants one that has not
// come. Large ones are announced; when the receiver wants one it reads the sender's memory (wires that can),
// or has it sent into place. Where a wire lets it and the sender knows that the receiver will want it soon,
// it is pushed instead: sent at once, into memory of the receiver's transport, so that neither waits for an
// answer behind other data. A message and its receive must have the same size: otherwise the receive fails,
// and no memory is touched.
//
// Not thread-safe: everything happens on the thread that owns progress at the moment. Completions are told
// from within these calls; they only take note, and must not call back in. Memory handed in must stay until
// its completion or until Cancel of its collective has returned.
//
// Failures: a receive from a lost peer fails unless its message is here already; a send to one just ends, for
// nobody can miss it: what the peer does not do for us shows in a receive.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "collectives/transport/buffer_pool.h"
#include "collectives/transport/wire.h"
#include "core/base/ids.h"

namespace shoal {

class Completion {
 public:
  virtual void Done(const absl::Status& status) = 0;

 protected:
  ~Completion() = default;
};

// A received message that is read in pieces, so that a reduction need not store it first.
struct MessageView {
  const char* data = nullptr;  // all of it, if this process can address it; else Transport::Read it
  Buffer storage;
  ProcessId from;
  FrameHeader bulk;  // bulk_id 0: nothing is owed to the sender
  Wire* wire = nullptr;
};

class Transport : private FrameSink {
 public:
  // Called from within Poll.
  using ControlHandler = std::function<void(ProcessId from, absl::Span<const char> bytes)>;
  using LostHandler = std::function<void(ProcessId peer, const absl::Status& why)>;

  // Of a job of so many processes. A peer is served by the first wire that reaches it.
  Transport(int processes, std::vector<std::unique_ptr<Wire>> wires, ControlHandler on_control,
            LostHandler on_lost);
  ~Transport() override;

  bool Reaches(ProcessId peer) const { return WireTo(peer) != nullptr; }
  // Whether the peer has died or left.
  bool IsGone(ProcessId peer) const { return At(peer).state != PeerState::kThere; }
  // Whether some wire must be polled to find what arrives.
  bool needs_polling() const { return needs_polling_; }
  // Whether large messages of `peer` are read from its memory, and so can be read in pieces at no cost.
  bool Pulls(ProcessId peer) const {
    const Wire* wire = WireTo(peer);
    return wire != nullptr && wire->CanPull(peer);
  }

  // Whether a message of so many bytes to `peer` can be pushed, and is not small.
  bool CanPush(ProcessId peer, int64_t bytes) const;

  // With `push` the receiver has begun, or is about to begin, what it wants the message for. REQUIRES CanPush
  // then. `announcement`, if not empty, goes before the message as by SendAnnouncement, in its frame where
  // there is room.
  void Send(ProcessId to, const MessageTag& tag, absl::Span<const char> data, Completion* done,
            bool push = false, absl::Span<const char> announcement = {});
  void Receive(ProcessId from, const MessageTag& tag, absl::Span<char> into, Completion* done);
  // `done` means that `view` can be read. Release it then.
  void View(ProcessId from, const MessageTag& tag, int64_t size, MessageView* view, Completion* done);
  // Data that lies in the sender's memory (a view with both data and a bulk) has been read: it counts if this
  // is OK.
  absl::Status CheckRead(const MessageView& view) const {
    return view.bulk.bulk_id == 0 ? absl::OkStatus() : view.wire->StillOffered(view.from, view.bulk);
  }
  // May be called by several threads at once.
  absl::Status Read(const MessageView& view, int64_t offset, absl::Span<char> into) const;
  void Release(MessageView* view);
  // Forgets everything of a collective, for ever; its completions are not told. Waits a little for what a
  // wire is sending just then: where the receiver does not take it, it may get what is there later.
  void Cancel(uint64_t collective);

  // To one that has left only if `even_if_left`: it may be listening still.
  void SendControl(ProcessId to, absl::Span<const char> bytes, bool even_if_left = false);
  // The same, but need not be heard before the receiver begins, or awaits, a collective.
  void SendAnnouncement(ProcessId to, absl::Span<const char> bytes);
  // What has been sent since the last Knock or Poll wakes receivers that sleep. To be called before doing
  // what takes long.
  void Knock();
  // False if nothing happened.
  bool Poll();
  // Whether something waits for a wire to have room: then polling must go on though nothing arrives. What is
  // for one that has left counts only if `even_if_left`.
  bool HasBacklog(bool even_if_left) const;
  // Whether data moves, or is about to, that a wire moves only while it is polled.
  bool MovesBulk() const;
  void FindLostPeers();
  // Tells peers that are held back, and what of theirs has been taken since the last call, that it goes on.
  // To be called now and then.
  void TellTaken();
  // Whether `peer` has taken something since the last call, as far as it has said so: large messages, and the
  // small ones before what is held back.
  bool HasTaken(ProcessId peer) { return std::exchange(At(peer).has_taken, false); }
  // Somebody else knows that the process is gone.
  void PeerLost(ProcessId peer, const absl::Status& why) { OnPeerLost(peer, why); }
  // The process has said, behind all else, that nothing more comes from it: what is still awaited fails. Not
  // told as a loss.
  void PeerLeft(ProcessId peer, const absl::Status& why);

 private:
  struct Key {
    ProcessId from;
    MessageTag tag;
    friend bool operator==(const Key&, const Key&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Key& key) {
      return H::combine(std::move(h), key.from, key.tag.collective, key.tag.part);
    }
  };
  struct Arrived {  // and not yet wanted
    FrameHeader header;
    Buffer payload;  // of all but kBulk
    absl::Status status = absl::OkStatus();
    // What it takes; pushed data is of collectives that have begun here.
    int64_t bytes() const {
      return static_cast<int64_t>(sizeof(Key) + sizeof(Arrived)) +
             (header.kind == FrameKind::kEager ? payload.capacity : 0);
    }
  };
  struct Wanted {  // and not yet here
    absl::Span<char> into;
    MessageView* view = nullptr;
    int64_t size = 0;
    Completion* done = nullptr;
  };
  struct Outgoing {  // a bulk of ours that its receiver has not taken yet, or a message that is held back
    ProcessId to;
    uint64_t collective;
    absl::Span<const char> data;
    Completion* done;
    int64_t streamed = -1;    // bytes handed to the wire in kBulkData frames; -1: not asked for
    bool on_channel = false;  // handed to the wire's bulk channel
  };
  struct Incoming {  // a bulk that is being sent to us
    uint64_t collective;
    absl::Span<char> into;
    int64_t missing;
    Completion* done;
  };
  struct Pushed {  // a bulk that is on its way to us
    uint64_t bulk_id;
    FrameHeader header;
    Buffer buffer;
    Wanted wanted = {};  // `done` is null until it is
    bool dropped = false;
  };
  struct Queued {
    FrameHeader header;
    std::vector<char> payload;
    int64_t bytes() const { return static_cast<int64_t>(sizeof(Queued) + payload.size()); }
  };
  enum class PeerState { kThere, kLeft, kLost };  // who has left may listen still
  struct Peer {
    Wire* wire = nullptr;
    std::deque<Queued> queue;                          // what the wire had no room for
    int64_t queued_bytes = 0;                          // what that takes
    std::deque<std::pair<uint64_t, MessageTag>> held;  // of outgoing_
    int64_t arrived_bytes = 0;                         // what its messages in arrived_ take
    bool is_full = false;                              // it has said so,
    bool was_told = false;                             // or has been told so
    bool is_behind = false;  // it was told so, and not all of its messages have been taken since
    bool took = false;       // of them some have, since TellTaken
    bool has_taken = false;  // of ours, since HasTaken
    PeerState state = PeerState::kThere;
    absl::Status why_gone;
  };

  void OnFrame(ProcessId from, const FrameHeader& header, absl::Span<const char> payload) override;
  void OnBulkSent(uint64_t bulk_id, const absl::Status& status) override;
  void OnBulkReceived(ProcessId from, uint64_t bulk_id, const absl::Status& status) override;
  void OnPeerLost(ProcessId peer, const absl::Status& why) override;

  // Forget what is with such a peer and of such a collective, and give its completions.
  using Which = absl::FunctionRef<bool(ProcessId peer, uint64_t collective)>;
  void TakeWanted(Which which, std::vector<Completion*>* taken);
  void TakeIncoming(Which which, std::vector<Completion*>* taken);
  void TakeOutgoing(Which which, std::vector<Completion*>* taken);
  Peer& At(ProcessId peer) { return peers_[peer.value()]; }
  const Peer& At(ProcessId peer) const { return peers_[peer.value()]; }
  Wire* WireTo(ProcessId peer) const { return At(peer).wire; }
  // Whether a message of so many bytes to `peer` goes whole, and is copied out at once.
  bool IsEager(ProcessId peer, int64_t bytes) const;
  // held_back.cc: whether small messages to `peer` must wait, for it is far behind; and what follows.
  bool HoldsBack(ProcessId peer) const;
  void Hold(ProcessId to, const MessageTag& tag, absl::Span<const char> data, Completion* done,
            absl::Span<const char> announcement);
  bool SendHeld();
  void Keep(const Key& key, Arrived arrived);
  void NoteTaken(ProcessId from, const Arrived& arrived);
  void TellRoom(ProcessId peer);
  void SendToEngine(ProcessId to, FrameKind kind, absl::Span<const char> bytes);
  void SendEager(ProcessId to, const MessageTag& tag, absl::Span<const char> data,
                 absl::Span<const char> announcement);
  bool TakeAnnouncement(ProcessId from, const FrameHeader& header, absl::Span<const char>* payload);
  void TakeMessage(ProcessId from, const FrameHeader& header, absl::Span<const char> payload);
  void SendFrame(ProcessId to, const FrameHeader& header, absl::Span<const char> payload);
  void Want(ProcessId from, const MessageTag& tag, Wanted wanted);
  void Match(ProcessId from, absl::Span<const char> payload, const Wanted& wanted);
  void MatchArrived(ProcessId from, Arrived arrived, const Wanted& wanted);
  void MatchBulk(ProcessId from, const FrameHeader& header, const Wanted& wanted);
  void FinishBulk(ProcessId from, uint64_t bulk_id);
  void TakePushed(ProcessId from, const FrameHeader& header);
  bool EndPushed(ProcessId from, uint64_t bulk_id, const absl::Status& status);
  void StartSending();
  void TakePiece(ProcessId from, const FrameHeader& header, absl::Span<const char> payload);
  bool FlushQueues();
  bool Stream();

  const std::vector<std::unique_ptr<Wire>> wires_;
  const ControlHandler on_control_;
  const LostHandler on_lost_;
  bool needs_polling_ = false;
  std::vector<Peer> peers_;  // by process
  bool has_queues_ = false;  // of peers_, perhaps not empty
  uint64_t last_bulk_id_ = 0;
  BufferPool pool_;
  std::vector<char> joined_;  // the payload of the frame being made
  absl::flat_hash_map<Key, Arrived> arrived_;
  absl::flat_hash_map<Key, Wanted> wanted_;
  absl::flat_hash_map<Key, Pushed> pushed_;
  absl::flat_hash_map<uint64_t, Outgoing> outgoing_;  // by bulk id
  std::vector<uint64_t> asked_for_;                   // bulks of ours, since the last Poll
  absl::flat_hash_map<std::pair<ProcessId, uint64_t>, Incoming> incoming_;  // by sender and its bulk id
  absl::flat_hash_set<uint64_t> cancelled_;
  std::deque<uint64_t> cancelled_order_;  // oldest first
};

}  // namespace shoal

// Wire: the interface of a transport's back end. It carries frames (small, whole, in order for each pair of
// processes) and, where it can, bulk data; Transport builds tagged messages of any size on top.
//
// Back ends: in_process_wire (tests, faults), shm_wire (processes of one host), mpi_wire and ucx_wire
// (between hosts). A wire is used by one thread at a time, the owner of progress, but for Pull. Nothing
// blocks. Failures of a peer are told through the sink, by Poll and FindLostPeers; they concern that peer
// alone.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/ids.h"

namespace shoal {

// What finds a message among those of a pair of processes.
struct MessageTag {
  uint64_t collective = 0;  // which collective, by the hash of its key
  // Which of its messages:
  //    63          48 47                      24 23                       0
  //   +--------------+--------------------------+--------------------------+
  //   |     lane     |          round           |  index within the round  |
  //   +--------------+--------------------------+--------------------------+
  uint64_t part = 0;
  static uint64_t Part(uint64_t lane, uint64_t round, uint64_t index) {
    return (lane & 0xffff) << 48 | (round & 0xffffff) << 24 | (index & 0xffffff);
  }
  friend bool operator==(const MessageTag&, const MessageTag&) = default;
};

// Never renumber: processes of different builds may meet.
enum class FrameKind : uint32_t {
  kEager = 0,         // a whole message
  kBulk = 1,          // the announcement of one: its id, size and address in the sender's memory
  kBulkDone = 2,      // to the sender: its memory has been read
  kBulkReady = 3,     // to the sender: memory waits for the data; it shall send
  kBulkData = 4,      // a piece of it
  kControl = 5,       // for the engine
  kAnnouncement = 6,  // for the engine, but nothing that one who awaits nothing need wake up for
  kPushed = 7,        // as kBulk, but the data is on its way over the bulk channel, unasked
  // To the sender of small messages, and again now and then as long as some are taken:
  kFull = 8,  // they fill memory here, unwanted; hold the next ones back
  kRoom = 9,  // no more
};

// As it lies in memory and on the wire; the payload's `length` bytes follow. What comes before a message for
// the engine may be in its frame: all of the payload of kBulk and kPushed, the front of kEager's.
struct FrameHeader {
  FrameKind kind = FrameKind::kEager;
  uint32_t length = 0;
  MessageTag tag;
  uint64_t bulk_id = 0;  // chosen by the sender of the bulk; never 0 for bulk
  union {
    uint64_t bulk_size = 0;  // of kBulk and kPushed
    uint64_t piece_offset;   // of kBulkData
    uint64_t front_bytes;    // of kEager: how much of the payload, in front, is for the engine
  };
  uint64_t bulk_address = 0;  // of kBulk
};
static_assert(sizeof(FrameHeader) == 4 + 4 + 16 + 8 + 8 + 8);

class FrameSink {
 public:
  virtual ~FrameSink() = default;
  // `payload` is valid during the call.
  virtual void OnFrame(ProcessId from, const FrameHeader& header, absl::Span<const char> payload) = 0;
  virtual void OnBulkSent(uint64_t bulk_id, const absl::Status& status) = 0;
  virtual void OnBulkReceived(ProcessId from, uint64_t bulk_id, const absl::Status& status) = 0;
  // The process is gone. All its frames have been delivered.
  virtual void OnPeerLost(ProcessId peer, const absl::Status& why) = 0;
};

struct WireCapabilities {
  absl::string_view name;
  int64_t eager_bytes = 0;    // the largest payload of a frame
  bool bulk_channel = false;  // has BulkSend and BulkReceive
  // An arriving frame rings the receiver's doorbell if it is kControl, else knocks at it; without this only
  // polling finds frames.
  bool rings = false;
  // Of a bulk channel: BulkSend may come before the peer's BulkReceive, and costs little then.
  bool pushes = false;
};

class Wire {
 public:
  virtual ~Wire() = default;
  virtual const WireCapabilities& capabilities() const = 0;
  virtual bool Reaches(ProcessId peer) const = 0;

  // Copies the frame and returns true, or false if there is no room for it now. A kBulk frame offers the
  // named memory to the peer until Retire.
  virtual bool TrySend(ProcessId to, const FrameHeader& header, absl::Span<const char> payload) = 0;
  // Wakes those that sleep and have been sent frames since the last call; TrySend may leave that to it.
  virtual void Knock() {}
  virtual void Retire(uint64_t bulk_id) {}
  // Delivers what has arrived; false if that was nothing.
  virtual bool Poll(FrameSink* sink) = 0;
  // Looks for peers that are gone; costs system calls.
  virtual void FindLostPeers(FrameSink* sink) {}

  // Whether this process can read that one's memory.
  virtual bool CanPull(ProcessId from) const { return false; }
  // Reads `into.size()` bytes of an announced bulk from `offset` on. Fails if its sender has retired it by
  // then. The only call that several threads may make at once.
  virtual absl::Status Pull(ProcessId from, const FrameHeader& bulk, int64_t offset, absl::Span<char> into) {
    return absl::UnimplementedError("this transport cannot read a peer's memory");
  }

  // Where an announced bulk lies in this process, if that part of its sender's memory is mapped here; null if
  // not. What was read there counts if StillOffered says so afterwards.
  virtual const char* Mapped(ProcessId from, const FrameHeader& bulk) const { return nullptr; }
  // Fails if the sender has retired the bulk.
  virtual absl::Status StillOffered(ProcessId from, const FrameHeader& bulk) const {
    return absl::OkStatus();
  }

  // With bulk_channel: the data of a bulk, both sides having agreed by kBulkReady, or pushed. The memory is
  // in use until the sink is told, or the cancelling call has returned.
  virtual void BulkSend(ProcessId to, uint64_t bulk_id, absl::Span<const char> data) {}
  virtual void BulkReceive(ProcessId from, uint64_t bulk_id, absl::Span<char> into) {}
  virtual void CancelBulkSend(uint64_t bulk_id) {}
  virtual void CancelBulkReceive(ProcessId from, uint64_t bulk_id) {}
};

}  // namespace shoal

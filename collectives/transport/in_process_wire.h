// A wire between several worlds in one process, for tests: every "process" is a thread or two of it. Faults
// can be asked for: a wire that cannot read memory, or pushes data, or has little room; a process that dies
// at a given frame.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "collectives/transport/doorbell.h"
#include "collectives/transport/wire.h"

namespace shoal {

// What the processes share. Thread-safe.
class InProcessHub {
 public:
  struct Faults {
    bool no_pull = false;  // bulk data goes in pieces
    bool pushes = false;   // or over a bulk channel, unasked; no_pull then
    int64_t eager_bytes = 1024;
    size_t room = 64;         // frames that may wait for one process
    int dies = -1;            // this process ...
    int64_t dies_after = -1;  // ... is gone once it has sent so many frames
  };
  InProcessHub(int processes, Faults faults);
  explicit InProcessHub(int processes) : InProcessHub(processes, Faults()) {}

  std::unique_ptr<Wire> MakeWire(ProcessId self);
  Doorbell* doorbell(ProcessId process) { return &inboxes_[process.value()]->doorbell; }
  void Kill(ProcessId process);

 private:
  friend class InProcessWire;
  struct Frame {
    ProcessId from;
    FrameHeader header;
    std::vector<char> payload;
  };
  struct Inbox {
    std::mutex mutex;
    std::deque<Frame> frames;  // guarded by mutex
    // Sent over the bulk channel, by sender and bulk; guarded by mutex.
    absl::flat_hash_map<std::pair<ProcessId, uint64_t>, std::vector<char>> bulks;
    absl::flat_hash_set<uint64_t> live_bulks;  // that this process offers; guarded by mutex
    bool dead = false;                         // guarded by mutex
    int64_t sent = 0;                          // guarded by mutex
    Doorbell doorbell;
  };

  const Faults faults_;
  std::vector<std::unique_ptr<Inbox>> inboxes_;
};

}  // namespace shoal

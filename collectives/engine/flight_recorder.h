// FlightRecorder: the last collectives between processes, as this one saw them: its own, and the last that
// each peer has announced to it. When a run fails it is what the message says of those that are missing, and,
// with SHOAL_DUMP=DIR, the file DIR/collectives.<process>.txt says more.
//
// Belongs to the owner of progress; not thread-safe. Recording allocates nothing once the names have room.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "collectives/engine/wire_format.h"
#include "core/base/topology.h"

namespace shoal {

class FlightRecorder {
 public:
  explicit FlightRecorder(const Topology& topology);

  void Started(const Announcement& announcement, absl::Time now);
  void Ended(const CollectiveKey& key, const absl::Status& status, absl::Time now);
  void Heard(ProcessId from, const Announcement& announcement, absl::Time now);

  // "was last heard of 2.1s ago, at 'all-reduce.0 f32[8]' of run 1", or that it never was.
  std::string LastHeard(ProcessId process, absl::Time now) const;
  // "its last one was 'all-reduce.0 f32[8]' of run 1, which ended 2.1s ago", of this process.
  std::string LastOwn(absl::Time now) const;
  // A line a collective, oldest first, then a line a peer.
  std::string ToString(absl::Time now) const;
  // Writes ToString to the file if there is to be one.
  void Write(const absl::Status& why) const;

 private:
  struct Entry {
    CollectiveKey key;
    std::string name;
    absl::Time start, end = absl::InfiniteFuture();  // infinite while under way
    absl::Status status;
  };
  struct Word {
    int64_t run = 0;
    std::string name;  // empty: nothing was heard
    absl::Time time;
  };

  const Topology topology_;
  std::vector<Entry> entries_;  // a ring
  uint64_t started_ = 0;        // ever; the next one goes to started_ % size
  std::vector<Word> heard_;     // by process
};

}  // namespace shoal

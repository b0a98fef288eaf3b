// Timeline: what the devices of every process did when, as one trace for Perfetto (https://ui.perfetto.dev),
// where SHOAL_TIMELINE names a file.
//
// Each process remembers its last entries and adds them to the file when its client goes or the process
// exits; whoever comes first of a job begins the file anew. The file is whole JSON (Chrome's trace events)
// whenever nobody is at it. Times are process 0's: a process on another host measures once how far its clock
// is off. Thread-safe. Where the flag is not set, asking for it is all that it costs.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "absl/container/node_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/base/topology.h"

namespace shoal {

// What a device does at one time is in one row, each kind in one of its own: F(row, its name), in the order
// in which they are shown.
#define SHOAL_TIMELINE_ROWS(F)                   \
  F(kPrograms, "programs")                       \
  F(kComputation, "computation")                 \
  F(kCollectives, "collectives")                 \
  F(kExchanges, "collectives between processes") \
  F(kCalls, "callbacks and custom calls")        \
  F(kCompilation, "compilation")

enum class TimelineRow : uint8_t {
#define SHOAL_TIMELINE_ROW(row, name) row,
  SHOAL_TIMELINE_ROWS(SHOAL_TIMELINE_ROW)
#undef SHOAL_TIMELINE_ROW
};

struct TimelineEntry {
  TimelineRow row;
  int device = 0;  // its id in the job
  int64_t start_ns = 0, end_ns = 0;
  int64_t run = -1;    // by which the entries of several processes are told to be of one run; -1: none
  int64_t bytes = -1;  // that it reads and writes; -1: not known
  const std::string* name = nullptr;
};

class Timeline {
 public:
  // Null where there is none.
  static Timeline* Get() {
    static Timeline* const timeline = FromFlag();
    return timeline;
  }
  // Nanoseconds since 1970 by this machine's clock, as entries want them; never goes back.
  static int64_t Now();

  // `keep`: how many entries at most; the oldest go first.
  Timeline(std::string path, size_t keep) : path_(std::move(path)), keep_(keep) {}

  // `ahead`: what process 0's clock shows more than this one's.
  void SetPlace(const Topology& topology, absl::Duration ahead);
  void Add(TimelineEntry entry, absl::string_view name);
  // Adds to the file what has come since the last time.
  absl::Status Write();
  // Writes the flag's, if there is one; a failure is a warning.
  static void WriteIfOn();

 private:
  static Timeline* FromFlag();
  std::string Events(int64_t origin_ns) const;

  const std::string path_;
  const size_t keep_;
  std::mutex mutex_;  // guards all below
  Topology topology_;
  int64_t ahead_ns_ = 0;
  absl::node_hash_set<std::string> names_;
  std::deque<TimelineEntry> entries_;
};

}  // namespace shoal

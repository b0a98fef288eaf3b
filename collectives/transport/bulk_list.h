// BulkList: what a wire's bulk channel has under way, for libraries that give requests to be tested (MPI,
// UCX). Not thread-safe; the wire's.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "collectives/transport/wire.h"

namespace shoal {

class BulkList {
 public:
  struct Bulk {
    bool sending = false;
    ProcessId peer;
    uint64_t id = 0;
    // One a piece; none: the library is done with it, or refused it.
    absl::InlinedVector<void*, 1> requests = {};
    absl::Status status = absl::OkStatus();  // why it refused
  };
  // What becomes of requests, given by where they stand: 0 while one is under way, below 0 if it failed.
  using Test = absl::FunctionRef<void(absl::Span<void** const> requests, absl::Span<int> states)>;
  using Cancel = absl::FunctionRef<void(void** request)>;

  void Add(Bulk bulk) { bulks_.push_back(std::move(bulk)); }
  // Tells the sink of those that have ended; true if there are any. `error` is of the request that failed
  // last.
  bool End(FrameSink* sink, Test test, absl::FunctionRef<absl::Status()> error);
  // Forgets one; of those that are sent the peer does not count.
  void Forget(bool sending, ProcessId peer, uint64_t id, Cancel cancel);
  void ForgetAll(Cancel cancel);

 private:
  void CancelAll(Bulk* bulk, Cancel cancel);

  std::vector<Bulk> bulks_;
  absl::Time last_cancel_ = absl::InfinitePast();
  absl::Duration waited_;  // in those that were cancelled together with the last
};

}  // namespace shoal

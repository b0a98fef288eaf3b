// Doorbell: how the owner of progress sleeps, and how others, in this process or another of the host, wake
// it. Lies in shared or private memory; zeroed memory is a valid doorbell. Thread-safe.
//
//   const uint32_t ticket = bell.Ticket();
//   if (!LookForWork()) bell.Wait(ticket, timeout);   // returns at once if somebody rang after Ticket()
#pragma once

#include <atomic>
#include <cstdint>

#include "absl/time/time.h"

namespace shoal {

class Doorbell {
 public:
  // Call before looking for work.
  uint32_t Ticket() const { return rings_.load(std::memory_order_seq_cst); }
  void Wait(uint32_t ticket, absl::Duration timeout);
  // No system call unless somebody sleeps, and nobody watches.
  void Ring();
  // As Ring, but nothing while knocks are not awaited. REQUIRES: what the knock is about lies there already,
  // before a sequentially consistent fence.
  void Knock();
  // Whether knocks are awaited, as they are at first. After `true` look for work: what came before told
  // nobody. Whoever looks for work anyway until the next call need not await any.
  void AwaitKnocks(bool awaits);
  bool AwaitsKnocks() const { return ignores_knocks_.load(std::memory_order_relaxed) == 0; }

  // Between the two the caller looks for work itself, awake, so that rings wake nobody. `ticket` is of its
  // last look. False if somebody rang after that, and perhaps nobody heard it: then it has to look once more.
  void Watch() { watchers_.fetch_add(1, std::memory_order_seq_cst); }
  [[nodiscard]] bool Unwatch(uint32_t ticket);
  bool IsWatched() const { return watchers_.load(std::memory_order_seq_cst) != 0; }

 private:
  std::atomic<uint32_t> rings_{0};
  std::atomic<uint32_t> sleepers_{0};
  std::atomic<uint32_t> watchers_{0};
  // On a line that seldom changes, for who knocks reads it.
  alignas(64) std::atomic<uint32_t> ignores_knocks_{0};
};

}  // namespace shoal

#include "collectives/transport/doorbell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace shoal {
namespace {

// Not the private kind: the word may be shared between processes.
void Futex(std::atomic<uint32_t>* word, int operation, uint32_t value, const timespec* timeout) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), operation, value, timeout, nullptr, 0);
}

}  // namespace

// Ring adds to rings_ and then reads sleepers_; Wait adds to sleepers_ and then (in the kernel) reads rings_.
// In the single order of these four, one of the two sees the other.
void Doorbell::Wait(uint32_t ticket, absl::Duration timeout) {
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  if (rings_.load(std::memory_order_seq_cst) == ticket) {
    const timespec limit = absl::ToTimespec(timeout);
    Futex(&rings_, FUTEX_WAIT, ticket, &limit);
  }
  sleepers_.fetch_sub(1, std::memory_order_seq_cst);
}

void Doorbell::Ring() {
  rings_.fetch_add(1, std::memory_order_seq_cst);
  if (watchers_.load(std::memory_order_seq_cst) != 0) return;
  if (sleepers_.load(std::memory_order_seq_cst) != 0) Futex(&rings_, FUTEX_WAKE, INT_MAX, nullptr);
}

// Knock is called behind a write and a fence and then reads ignores_knocks_; AwaitKnocks writes that, and
// then its caller looks for what was written: one of the two sees the other.
void Doorbell::Knock() {
  if (ignores_knocks_.load(std::memory_order_seq_cst) == 0) Ring();
}

void Doorbell::AwaitKnocks(bool awaits) {
  const uint32_t ignores = awaits ? 0 : 1;
  if (ignores_knocks_.load(std::memory_order_relaxed) == ignores) return;
  ignores_knocks_.store(ignores, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

// Ring adds to rings_ and then reads watchers_; this takes from watchers_ and then reads rings_: so either
// the ringer wakes the sleepers or this tells.
bool Doorbell::Unwatch(uint32_t ticket) {
  watchers_.fetch_sub(1, std::memory_order_seq_cst);
  return rings_.load(std::memory_order_seq_cst) == ticket;
}

}  // namespace shoal

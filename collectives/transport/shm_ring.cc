#include "collectives/transport/shm_ring.h"

#include <algorithm>
#include <cstring>

namespace shoal {
namespace {

constexpr uint64_t kCacheLine = 64;
// Of what waits in a ring: a few small frames. The rest comes while these are worked on.
constexpr uint64_t kFetched = 24 * kCacheLine;
// Behind so much an empty ring begins anew, so that small messages stay in the caches: the rings of a few
// processes together are larger than these.
constexpr uint64_t kWarmBytes = 8 << 10;

}  // namespace

bool ShmRing::FetchNext(int64_t capacity) const {
  const uint64_t head = head_.load(std::memory_order_relaxed);
  const uint64_t tail = tail_.load(std::memory_order_acquire);
  const uint64_t begin = head % capacity;
  const uint64_t end = std::min<uint64_t>(begin + std::min(tail - head, kFetched), capacity);
  for (uint64_t at = begin; at < end; at += kCacheLine) __builtin_prefetch(data() + at);
  return tail != head;
}

bool ShmRing::TryWrite(int64_t capacity, const FrameHeader& header, absl::Span<const char> payload,
                       uint64_t* known_head) {
  const uint64_t record = (sizeof(uint64_t) + sizeof(header) + payload.size() + 7) / 8 * 8;
  uint64_t tail = tail_.load(std::memory_order_relaxed);
  const uint64_t to_end = capacity - tail % capacity;
  const bool may_rewind = tail % capacity > kWarmBytes;
  uint64_t skipped = record > to_end ? to_end : 0;
  const auto has_room = [&] { return record + skipped <= capacity - (tail - *known_head); };
  if (may_rewind || !has_room()) *known_head = head_.load(std::memory_order_acquire);
  if (may_rewind && *known_head == tail && record + to_end <= static_cast<uint64_t>(capacity))
    skipped = to_end;
  if (!has_room()) return false;
  if (skipped > 0) {
    *LengthAt(tail % capacity) = 0;
    tail += skipped;
  }
  char* target = data() + tail % capacity;
  *LengthAt(tail % capacity) = record;
  std::memcpy(target + sizeof(uint64_t), &header, sizeof(header));
  if (!payload.empty())
    std::memcpy(target + sizeof(uint64_t) + sizeof(header), payload.data(), payload.size());
  tail_.store(tail + record, std::memory_order_release);
  return true;
}

}  // namespace shoal

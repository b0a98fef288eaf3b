#include "collectives/transport/shm_ring.h"

#include <cstring>

namespace shoal {

bool ShmRing::TryWrite(int64_t capacity, const FrameHeader& header, absl::Span<const char> payload) {
  const uint64_t record = (sizeof(uint64_t) + sizeof(header) + payload.size() + 7) / 8 * 8;
  uint64_t tail = tail_.load(std::memory_order_relaxed);
  const uint64_t head = head_.load(std::memory_order_acquire);
  const uint64_t room = capacity - (tail - head);
  const uint64_t to_end = capacity - tail % capacity;
  const uint64_t skipped = record > to_end ? to_end : 0;
  if (record + skipped > room) return false;
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

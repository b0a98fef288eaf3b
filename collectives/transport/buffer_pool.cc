#include "collectives/transport/buffer_pool.h"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

namespace shoal {
namespace {

constexpr uint64_t kSmallestBytes = 1 << 10, kLargestBytes = uint64_t{1} << 48;
constexpr int64_t kMostKeptBytes = 64 << 20;

int ClassOf(int64_t capacity) { return std::countr_zero(static_cast<uint64_t>(capacity)); }

}  // namespace

Buffer BufferPool::Take(uint64_t bytes) {
  if (bytes > kLargestBytes) return {};
  const auto capacity = static_cast<int64_t>(std::bit_ceil(std::max(bytes, kSmallestBytes)));
  std::vector<Buffer>& free = free_[ClassOf(capacity)];
  if (free.empty()) return {std::unique_ptr<char[]>(new (std::nothrow) char[capacity]), capacity};
  Buffer buffer = std::move(free.back());
  free.pop_back();
  kept_ -= capacity;
  return buffer;
}

void BufferPool::Give(Buffer buffer) {
  if (buffer.bytes == nullptr || kept_ + buffer.capacity > kMostKeptBytes) return;
  kept_ += buffer.capacity;
  free_[ClassOf(buffer.capacity)].push_back(std::move(buffer));
}

}  // namespace shoal

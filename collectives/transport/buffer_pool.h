// BufferPool: memory for messages that have no place of their own yet. What is given back is kept for the
// next ones, because fresh memory costs a page fault every 4 KiB. Its contents are whatever they were. Not
// thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace shoal {

struct Buffer {
  std::unique_ptr<char[]> bytes;
  int64_t capacity = 0;
};

class BufferPool {
 public:
  // An empty one if there is no such memory.
  Buffer Take(uint64_t bytes);
  // An empty one is fine.
  void Give(Buffer buffer);

 private:
  std::array<std::vector<Buffer>, 64> free_;  // by the logarithm of the capacity
  int64_t kept_ = 0;                          // bytes
};

}  // namespace shoal

// ShmRing: frames from one process to one other of the same host, through shared memory, in order, without
// locks or system calls. One writer and one reader. Zeroed memory is an empty ring.
//
// A record is a multiple of 8 bytes: a word with its length, the frame's header, the payload. A record does
// not wrap: a length of 0 says that the next one begins at the start of the ring.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "absl/types/span.h"
#include "collectives/transport/wire.h"

namespace shoal {

class ShmRing {
 public:
  // `capacity` bytes of data, a multiple of 64, follow the ring's own fields.
  static int64_t BytesFor(int64_t capacity) { return static_cast<int64_t>(sizeof(ShmRing)) + capacity; }

  // False if there is no room now. For the writer, which keeps in `known_head` (at first 0) how far it knows
  // the reader to be: to ask for each frame would fetch a line from the reader's core. A record of more than
  // half the capacity may never find room, for it does not wrap.
  bool TryWrite(int64_t capacity, const FrameHeader& header, absl::Span<const char> payload,
                uint64_t* known_head);
  // For a reader of several rings, before it reads them: the cache lines that they all need come from the
  // writers' cores together. FetchNext is false if there is nothing to read.
  void FetchTail() const { __builtin_prefetch(&tail_); }
  bool FetchNext(int64_t capacity) const;
  // Hands the next frame to `body(header, payload)`; false if there is none. For the reader.
  template <typename Body>
  bool Read(int64_t capacity, const Body& body) {
    uint64_t head = head_.load(std::memory_order_relaxed);
    const uint64_t tail = tail_.load(std::memory_order_acquire);
    if (head == tail) return false;
    const uint64_t length = *LengthAt(head % capacity);
    if (length == 0) {
      head += capacity - head % capacity;
      if (head == tail) return false;  // the writer has wrapped, but its record is not there yet
    }
    const char* record = data() + head % capacity;
    FrameHeader header;
    const uint64_t size = *LengthAt(head % capacity);
    std::memcpy(&header, record + sizeof(uint64_t), sizeof(header));
    body(header, absl::Span<const char>(record + sizeof(uint64_t) + sizeof(header), header.length));
    head_.store(head + size, std::memory_order_release);
    return true;
  }

 private:
  char* data() { return reinterpret_cast<char*>(this + 1); }
  const char* data() const { return reinterpret_cast<const char*>(this + 1); }
  uint64_t* LengthAt(uint64_t offset) { return reinterpret_cast<uint64_t*>(data() + offset); }

  // Bytes ever written and read; apart, for each is written by another process.
  alignas(64) std::atomic<uint64_t> tail_;  // by the writer
  alignas(64) std::atomic<uint64_t> head_;  // by the reader
};

}  // namespace shoal

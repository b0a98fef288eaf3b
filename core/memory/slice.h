// Slice: where an array lies while a program runs: a block of the table that every run lays out, and an
// offset in it.
//
// The table of a run ("bases"): run info, temporaries, constants, then the parameters, then the results.
#pragma once

#include <cstdint>

namespace shoal {

struct Slice {
  int32_t base = 0;
  int64_t offset = 0;
  int64_t bytes = 0;
  bool Overlaps(const Slice& other) const {
    return base == other.base && offset < other.offset + other.bytes && other.offset < offset + bytes;
  }
  friend bool operator==(const Slice&, const Slice&) = default;
};

inline constexpr int32_t kRunInfoBase = 0;
inline constexpr int32_t kTempBase = 1;
inline constexpr int32_t kConstantBase = 2;
inline constexpr int32_t kFirstParameterBase = 3;

// What lies in the block kRunInfoBase; programs read it as any other memory.
struct RunInfo {
  uint32_t partition_id = 0;
  uint32_t replica_id = 0;
};

}  // namespace shoal

// Copies, reductions and conversions between arrays of this process, as values: what a collective does by
// pointer before and after processes exchange data, and all it does where every participant is in this
// process.
//
// Memory is named by reference and bound at each call. A phase's jobs touch disjoint targets and go on in
// parallel.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/runtime/communicator.h"

namespace shoal {

struct MemoryRef {
  enum Kind : uint8_t { kInput, kOutput, kStaging, kZeros };
  Kind kind = kInput;
  int index = 0;       // of the local member, or of the staging buffer
  int array = 0;       // of the operation; not of staging
  int64_t offset = 0;  // bytes
  friend MemoryRef operator+(MemoryRef ref, int64_t bytes) {
    ref.offset += bytes;
    return ref;
  }
};

// `bytes` bytes that lie in rows of `row` bytes, `stride` apart.
struct Rows {
  MemoryRef base;
  int64_t row = 0;
  int64_t stride = 0;
};
inline Rows OnePiece(const MemoryRef& base, int64_t bytes) {
  return {base, bytes > 0 ? bytes : 1, 0};  // a row has bytes, though there be none to copy
}

// Jobs do the `bytes` bytes of their data from byte `begin` on; references and rows are those of byte 0.

// Byte k of the data goes from byte k of `from` to byte k of `to`, whatever their rows are.
struct CopyJob {
  Rows from, to;
  int64_t bytes = 0;
  int64_t begin = 0;
};

// Each target becomes the reduction of the sources in their order. All have rows of one size. The first
// target may be the memory of any source, the others that of sources only where no other job reads it.
struct ReduceJob {
  ElementType type;
  ReductionKind reduction;
  std::vector<Rows> sources, targets;
  int64_t bytes = 0;
  int64_t begin = 0;
};

// Floats of the type `narrow` become f32, or the other way round.
struct ConvertJob {
  ElementType narrow;
  bool widens = true;
  MemoryRef from, to;
  int64_t bytes = 0;  // of the f32
  int64_t begin = 0;  // of the f32
};

struct Phase {
  std::vector<CopyJob> copies;
  std::vector<ReduceJob> reductions;
  std::vector<ConvertJob> conversions;
};

// Where the references point in one call.
struct MemoryBinding {
  absl::Span<const void* const* const> inputs;  // of each local member, by array
  absl::Span<void* const* const> outputs;
  absl::Span<char* const> staging;
  char* At(const MemoryRef& ref) const;  // null for kZeros
};

int64_t BytesOf(absl::Span<const Phase> phases);
// Returns when all is done; large phases use the arena if there is more than one of `workers`, small ones
// only this thread.
void RunPhases(absl::Span<const Phase> phases, const MemoryBinding& binding, int workers);
// The same for the owner of progress, who waits for no worker to become free (engine/assist.h).
void RunPhasesAssisted(absl::Span<const Phase> phases, const MemoryBinding& binding, int workers);

}  // namespace shoal

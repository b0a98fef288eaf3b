#include "collectives/communicator/memory_jobs.h"

#include <algorithm>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "collectives/engine/assist.h"
#include "collectives/reduce/narrow.h"
#include "collectives/reduce/reduce.h"
#include "collectives/reduce/stream_copy.h"
#include "core/tasks/arena.h"

namespace shoal {
namespace {

// A job is done in pieces of so many bytes of the target, and reductions go on by as much at a time: small
// enough that the other targets are copied from the cache, large enough to hide a task's cost.
constexpr int64_t kPieceBytes = 128 << 10;
// Below this it is quicker to do it here than to wake others.
constexpr int64_t kParallelBytes = 128 << 10;

using Copy = void (*)(void* to, const void* from, int64_t bytes);

int64_t PositionOf(const Rows& rows, int64_t at) { return at / rows.row * rows.stride + at % rows.row; }

void CopyRange(const CopyJob& job, const MemoryBinding& binding, Copy copy, int64_t begin, int64_t end) {
  const char* from = binding.At(job.from.base);
  char* to = binding.At(job.to.base);
  for (int64_t at = begin; at < end;) {
    const int64_t to_left = job.to.row - at % job.to.row;
    const int64_t from_left = from == nullptr ? to_left : job.from.row - at % job.from.row;
    const int64_t n = std::min({from_left, to_left, end - at});
    char* target = to + PositionOf(job.to, at);
    if (from == nullptr) {
      std::memset(target, 0, n);
    } else if (const char* source = from + PositionOf(job.from, at); source != target) {
      copy(target, source, n);
    }
    at += n;
  }
}

void ReduceRange(const ReduceJob& job, const MemoryBinding& binding, Copy copy, int64_t begin, int64_t end) {
  const int64_t width = ByteWidth(job.type), row = job.sources[0].row;
  absl::InlinedVector<const void*, 16> sources(job.sources.size());
  alignas(64) static thread_local char scratch[kPastCachesPiece];
  // Past the caches the sum goes by way of memory that stays in them.
  const bool direct = copy == CopyThroughCaches;
  for (int64_t at = begin; at < end;) {
    const int64_t n = std::min({row - at % row, end - at, direct ? kPieceBytes : kPastCachesPiece});
    for (size_t i = 0; i < sources.size(); ++i) {
      sources[i] = binding.At(job.sources[i].base) + PositionOf(job.sources[i], at);
    }
    char* first = binding.At(job.targets[0].base) + PositionOf(job.targets[0], at);
    void* sum = direct ? first : scratch;
    Reduce(job.type, job.reduction, sources, sum, n / width);
    for (const Rows& target : absl::MakeConstSpan(job.targets).subspan(direct ? 1 : 0)) {
      copy(binding.At(target.base) + PositionOf(target, at), sum, n);
    }
    at += n;
  }
}

void ConvertRange(const ConvertJob& job, const MemoryBinding& binding, Copy, int64_t begin, int64_t end) {
  constexpr int64_t kWidth = sizeof(float);
  const int64_t narrow_width = ByteWidth(job.narrow), count = (end - begin) / kWidth;
  const int64_t narrow = begin / kWidth * narrow_width;
  if (job.widens) {
    auto* to = reinterpret_cast<float*>(binding.At(job.to) + begin);
    WidenToFloat(job.narrow, binding.At(job.from) + narrow, to, count);
  } else {
    const auto* from = reinterpret_cast<const float*>(binding.At(job.from) + begin);
    NarrowFromFloat(job.narrow, from, binding.At(job.to) + narrow, count);
  }
}

int64_t PiecesOf(int64_t bytes) { return (bytes + kPieceBytes - 1) / kPieceBytes; }

// Pieces of all jobs of a phase in a row, reductions first.
void RunPieces(const Phase& phase, const MemoryBinding& binding, Copy copy, int64_t begin, int64_t end) {
  int64_t first = 0;
  const auto run = [&](const auto& job, const auto& run_range) {
    const int64_t last = first + PiecesOf(job.bytes);
    if (last > begin && first < end) {
      const int64_t from = (std::max(begin, first) - first) * kPieceBytes;
      const int64_t to = std::min(job.bytes, (std::min(end, last) - first) * kPieceBytes);
      run_range(job, binding, copy, job.begin + from, job.begin + to);
    }
    first = last;
  };
  for (const ReduceJob& job : phase.reductions) run(job, ReduceRange);
  for (const CopyJob& job : phase.copies) run(job, CopyRange);
  for (const ConvertJob& job : phase.conversions) run(job, ConvertRange);
}

// `loop(pieces, body)` calls body(begin, end) for all pieces of a phase, by several threads.
void RunAll(absl::Span<const Phase> phases, const MemoryBinding& binding, int workers,
            absl::FunctionRef<void(int64_t, absl::FunctionRef<void(int64_t, int64_t)>)> loop) {
  for (const Phase& phase : phases) {
    int64_t pieces = 0;
    for (const ReduceJob& job : phase.reductions) pieces += PiecesOf(job.bytes);
    for (const CopyJob& job : phase.copies) pieces += PiecesOf(job.bytes);
    for (const ConvertJob& job : phase.conversions) pieces += PiecesOf(job.bytes);
    const int64_t bytes = BytesOf(absl::MakeConstSpan(&phase, 1));
    const Copy copy = bytes >= kPastCachesBytes ? CopyPastCaches : CopyThroughCaches;
    const auto body = [&](int64_t begin, int64_t end) { RunPieces(phase, binding, copy, begin, end); };
    pieces <= 1 || workers == 1 || bytes < kParallelBytes ? body(0, pieces) : loop(pieces, body);
  }
}

}  // namespace

char* MemoryBinding::At(const MemoryRef& ref) const {
  switch (ref.kind) {
    case MemoryRef::kInput:
      return static_cast<char*>(const_cast<void*>(inputs[ref.index][ref.array])) + ref.offset;
    case MemoryRef::kOutput:
      return static_cast<char*>(outputs[ref.index][ref.array]) + ref.offset;
    case MemoryRef::kStaging:
      return staging[ref.index] + ref.offset;
    case MemoryRef::kZeros:
      break;
  }
  return nullptr;
}

int64_t BytesOf(absl::Span<const Phase> phases) {
  int64_t bytes = 0;
  for (const Phase& phase : phases) {
    for (const CopyJob& job : phase.copies) bytes += job.bytes;
    for (const ConvertJob& job : phase.conversions) bytes += job.bytes;
    for (const ReduceJob& job : phase.reductions) {
      bytes += job.bytes * static_cast<int64_t>(job.sources.size() + job.targets.size() - 1);
    }
  }
  return bytes;
}

void RunPhases(absl::Span<const Phase> phases, const MemoryBinding& binding, int workers) {
  RunAll(phases, binding, workers,
         [](int64_t pieces, auto body) { Arena::Get().ParallelFor(pieces, 1, body); });
}

void RunPhasesAssisted(absl::Span<const Phase> phases, const MemoryBinding& binding, int workers) {
  RunAll(phases, binding, workers, [workers](int64_t pieces, auto body) {
    RunAssisted(pieces, workers - 1, [&](int64_t piece) { body(piece, piece + 1); });
  });
}

}  // namespace shoal

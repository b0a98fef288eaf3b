// PlacedWork: copies, reductions and conversions by pointer, each with its place in the data that the lanes
// of a collective move, so that each lane's part of them can be cut out. A value.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "collectives/communicator/memory_jobs.h"

namespace shoal {

class PlacedWork {
 public:
  // Byte 0 of the job lies at `at` of the lanes' data. The jobs of one PlacedWork make a phase.
  void Add(int64_t at, const CopyJob& job) { copies_.emplace_back(at, job); }
  void Add(int64_t at, ReduceJob job) { reductions_.emplace_back(at, std::move(job)); }
  void Add(int64_t at, const ConvertJob& job) { conversions_.emplace_back(at, job); }

  Phase All() const;
  // Of all jobs what lies in one of the ranges [first, second).
  Phase Within(absl::Span<const std::pair<int64_t, int64_t>> ranges) const;

 private:
  template <typename Job>
  using Placed = std::vector<std::pair<int64_t, Job>>;

  Placed<CopyJob> copies_;
  Placed<ReduceJob> reductions_;
  Placed<ConvertJob> conversions_;
};

}  // namespace shoal

#include "collectives/communicator/placed_work.h"

#include <algorithm>
#include <limits>

namespace shoal {
namespace {

// Jobs of no bytes are left out.
template <typename Job>
void CutOut(const std::vector<std::pair<int64_t, Job>>& placed,
            absl::Span<const std::pair<int64_t, int64_t>> ranges, std::vector<Job>* jobs) {
  for (const auto& [at, job] : placed) {
    for (const auto& [first, last] : ranges) {
      const int64_t begin = std::max(at, first), end = std::min(at + job.bytes, last);
      if (begin >= end) continue;
      jobs->push_back(job);
      jobs->back().begin = begin - at;
      jobs->back().bytes = end - begin;
    }
  }
}

}  // namespace

Phase PlacedWork::All() const { return Within({{0, std::numeric_limits<int64_t>::max()}}); }

Phase PlacedWork::Within(absl::Span<const std::pair<int64_t, int64_t>> ranges) const {
  Phase phase;
  CutOut(copies_, ranges, &phase.copies);
  CutOut(reductions_, ranges, &phase.reductions);
  CutOut(conversions_, ranges, &phase.conversions);
  return phase;
}

}  // namespace shoal

// Hindrances: what this process knows of who, within a run, cannot come to a collective before another has
// ended. Each is a fact for good: `awaited` was in `instead`, had not come to `waits_in`, and one of its
// participants cannot before `instead` has ended; so `waits_in` ends, in `waits`, only after `instead` has in
// `awaited`. Facts in a ring therefore prove that none of these collectives will ever end, whenever each was
// found out. (Knowledge of whom one waits for is passed on along the waits, as in the edge-chasing of
// K. M. Chandy, J. Misra and L. M. Haas, Distributed deadlock detection, 1983.)
//
// Belongs to the owner of progress; not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "collectives/engine/wire_format.h"

namespace shoal {

class Hindrances {
 public:
  // Once there are so many the oldest is forgotten.
  static constexpr size_t kMost = 64;

  void Add(Hindrance hindrance);
  void ForgetRuns(const std::function<bool(ProgramRun)>& is_over);
  std::vector<Hindrance> Of(ProgramRun run) const;
  // The ring that `process` is in with its part of the collective: it waits in the first of them, for the
  // process that waits in the second, and so on, and the last waits for it. Empty if none is known.
  std::vector<Hindrance> RingThrough(int64_t process, const CollectiveKey& collective) const;

 private:
  std::vector<Hindrance> known_;  // the oldest first
};

}  // namespace shoal

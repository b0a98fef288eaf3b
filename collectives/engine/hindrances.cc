#include "collectives/engine/hindrances.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace shoal {
namespace {

bool IsSameFact(const Hindrance& a, const Hindrance& b) {
  return a.waits == b.waits && a.waits_in == b.waits_in && a.awaited == b.awaited && a.instead == b.instead;
}

}  // namespace

void Hindrances::Add(Hindrance hindrance) {
  const auto same = [&](const Hindrance& other) { return IsSameFact(hindrance, other); };
  if (std::any_of(known_.begin(), known_.end(), same)) return;
  if (known_.size() == kMost) known_.erase(known_.begin());
  known_.push_back(std::move(hindrance));
}

void Hindrances::ForgetRuns(const std::function<bool(ProgramRun)>& is_over) {
  std::erase_if(known_, [&](const Hindrance& hindrance) { return is_over(hindrance.waits_in.run); });
}

std::vector<Hindrance> Hindrances::Of(ProgramRun run) const {
  std::vector<Hindrance> those;
  std::copy_if(known_.begin(), known_.end(), std::back_inserter(those),
               [&](const Hindrance& hindrance) { return hindrance.waits_in.run == run; });
  return those;
}

// The shortest one, breadth first: `reached` are facts in the order in which the waits lead to them, each
// with the position of the one before it.
std::vector<Hindrance> Hindrances::RingThrough(int64_t process, const CollectiveKey& collective) const {
  std::vector<bool> seen(known_.size(), false);
  std::vector<std::pair<const Hindrance*, int>> reached;
  const auto reach = [&](int64_t waits, const CollectiveKey& waits_in, int before) {
    for (size_t i = 0; i < known_.size(); ++i) {
      if (seen[i] || known_[i].waits != waits || known_[i].waits_in != waits_in) continue;
      seen[i] = true;
      reached.emplace_back(&known_[i], before);
    }
  };
  std::vector<Hindrance> ring;
  reach(process, collective, -1);
  for (size_t i = 0; i < reached.size() && ring.empty(); ++i) {
    const Hindrance& last = *reached[i].first;
    reach(last.awaited, last.instead, static_cast<int>(i));
    if (last.awaited != process || last.instead != collective) continue;
    for (int k = static_cast<int>(i); k >= 0; k = reached[k].second) ring.push_back(*reached[k].first);
  }
  std::reverse(ring.begin(), ring.end());
  return ring;
}

}  // namespace shoal

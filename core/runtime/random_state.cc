#include "core/runtime/random_state.h"

#include <cstring>
#include <mutex>

#include "absl/container/flat_hash_map.h"

namespace shoal {
namespace {

// Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014: every bit of x counts
// for every bit of the result.
uint64_t Mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

class RandomState : public CustomCall {
 public:
  explicit RandomState(const CustomCallSite& site) {
    for (char c : site.backend_config) seed_ = Mix(seed_ ^ static_cast<uint8_t>(c));
  }

  Future Start(const RunContext& context, absl::Span<const void* const>,
               absl::Span<void* const> results) const override {
    uint64_t count;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      count = counts_[context.partition]++;
    }
    const uint64_t state[2] = {Mix(seed_ ^ Mix(count)), Mix(seed_ + count)};
    std::memcpy(results[0], state, sizeof(state));
    return Future();
  }

 private:
  uint64_t seed_ = 0;
  mutable std::mutex mutex_;
  mutable absl::flat_hash_map<PartitionId, uint64_t> counts_;  // calls so far; guarded by mutex_
};

}  // namespace

std::unique_ptr<CustomCall> MakeRandomState(const CustomCallSite& site) {
  return std::make_unique<RandomState>(site);
}

}  // namespace shoal

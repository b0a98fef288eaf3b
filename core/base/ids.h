// Strong ids: integers that cannot be mistaken for one another. A bare int is a count.
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <utility>

#include "absl/strings/str_cat.h"

namespace shoal {

// An integer named by `Tag`; totally ordered, hashable, printed as its number.
template <typename Tag, typename Int>
class StrongId {
 public:
  constexpr StrongId() = default;
  constexpr explicit StrongId(Int value) : value_(value) {}
  constexpr Int value() const { return value_; }

  friend constexpr auto operator<=>(StrongId a, StrongId b) = default;
  template <typename H>
  friend H AbslHashValue(H h, StrongId id) {
    return H::combine(std::move(h), id.value_);
  }
  friend std::ostream& operator<<(std::ostream& out, StrongId id) { return out << id.value_; }

 private:
  Int value_ = 0;
};

// A device of the global mesh: dense from 0 over all processes, in process order. The id that JAX shows.
using DeviceId = StrongId<struct DeviceIdTag, int32_t>;
// A process of the job, 0 to N-1: MPI's rank, JAX's process_index.
using ProcessId = StrongId<struct ProcessIdTag, int32_t>;
// A machine (one shared-memory domain) of the job, dense from 0.
using HostId = StrongId<struct HostIdTag, int32_t>;
// A participant of one SPMD program: its position in the program's device assignment.
using PartitionId = StrongId<struct PartitionIdTag, int32_t>;
// One execution of a program, the same on every process (PJRT's launch id).
using RunId = StrongId<struct RunIdTag, int64_t>;

}  // namespace shoal

template <typename Tag, typename Int>
struct std::hash<shoal::StrongId<Tag, Int>> {
  size_t operator()(shoal::StrongId<Tag, Int> id) const { return std::hash<Int>()(id.value()); }
};

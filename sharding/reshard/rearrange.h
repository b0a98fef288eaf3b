// Rearrangements of a split dimension: each part gets pieces of arrays that are split over the same axes,
// from whichever parts have them. That goes in rounds; in each of them a device sends one piece at most and
// gets one at most, so that a round is one collective-permute.
//
//   concatenate(a, b) of 8 each in 4 parts:   part 0 gets a[0,4), part 1 a[4,8), part 2 b[0,4), part 3 b[4,8)
//   rounds of 2:   0: 0->0, 3->3 (no traffic)   1: 1->0, 2->1, 0->2   2: 3->1, 1->2, 2->3
#pragma once

#include <cstdint>
#include <vector>

#include "core/hlo/instruction.h"
#include "sharding/reshard/local_builder.h"

namespace shoal {

struct Piece {
  int64_t array = 0;   // which of the arrays
  int64_t first = 0;   // its first element, in the whole array's dimension
  int64_t size = 0;    // elements; all of them exist
  int64_t target = 0;  // where the piece begins in the part that gets it
};

struct Rearrangement {
  int64_t dim = 0;
  AxisList axes;                           // that the dimension is split over
  std::vector<int64_t> globals;            // the dimension's size in each of the arrays
  int64_t size = 0;                        // elements of each part of the result
  std::vector<std::vector<Piece>> wanted;  // by part; pieces of one part are disjoint
};

// Elements of the dimension that one device sends, and in how many collectives.
struct RearrangedTraffic {
  int64_t rows = 0, rounds = 0;
};
RearrangedTraffic TrafficOf(const Rearrangement& rearrangement);

// `arrays` are this device's parts. What no piece covers is zero.
Instruction* Rearrange(LocalBuilder& builder, absl::Span<Instruction* const> arrays,
                       const Rearrangement& rearrangement);

}  // namespace shoal

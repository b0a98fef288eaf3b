// Windows of a split dimension: each part gets a range of the whole dimension that moves on evenly from part
// to part, wherever it lies. Neighbours send what is missing.
//
//   n=8 over 4 parts of 2, first=-1, step=2, size=4:   parts get [-1,3) [1,5) [3,7) [5,9)
#pragma once

#include "core/hlo/instruction.h"
#include "sharding/reshard/local_builder.h"

namespace shoal {

struct HaloWindow {
  int64_t dim = 0;
  AxisList axes;       // that the dimension is split over
  int64_t global = 0;  // its whole size
  int64_t first = 0;   // where the window of part 0 begins
  int64_t step = 0;    // from one part's to the next
  int64_t size = 0;    // elements of each window
};

// What fetching costs in the partitioner's coin (cost.h): the rows of `row_bytes` that one device sends, and
// the copy that the window is.
double HaloCost(const HaloWindow& window, double row_bytes);
// `x` is this device's part. Elements outside the dimension are `fill` (a scalar), or anything if it is null.
Instruction* FetchWindow(LocalBuilder& builder, Instruction* x, const HaloWindow& window, Instruction* fill);
// The array rolled by `shift` towards its end, round the ring; the dimension is split evenly.
Instruction* FetchRolled(LocalBuilder& builder, Instruction* x, int64_t dim, const AxisList& axes,
                         int64_t shift);
// The part that lies as far from the end as this one lies from the beginning.
Instruction* FetchMirrored(LocalBuilder& builder, Instruction* x, const AxisList& axes);

}  // namespace shoal

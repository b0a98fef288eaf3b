// Sample sort: a dimension that is split into parts is sorted without any device's holding all of it.
//
// Each part sorts its own; some samples of all parts, sorted, say where to cut all values into as many
// buckets as there are parts; part j gets bucket j, which is at most about twice as long as a part, and sorts
// it; and buckets are shifted so that the parts are of one length again. What a device sends is about twice
// its part. Equals are told apart by where they were, so the order is that of a stable sort, and no bucket is
// too long. Where the dimension does not divide, what is past its end comes after all others by its position,
// which then travels, too. All lines of an array are sorted at once, in the same exchanges.
#pragma once

#include "absl/status/status.h"
#include "sharding/partition/region.h"

namespace shoal {

// Whether `old`, a sort, can go so where its dimension is split in `parts`.
bool CanSampleSort(const Instruction& old, int64_t parts);
// Bytes that one device sends, which has `part` of every operand, and the price of the steps.
double SampleSortCost(const Instruction& old, const Shape& part, int64_t parts);
// The sorted parts, one an operand. REQUIRES: CanSampleSort.
absl::StatusOr<std::vector<Instruction*>> SampleSort(Region& region, const Instruction& old,
                                                     absl::Span<Instruction* const> parts,
                                                     const AxisList& axes);

}  // namespace shoal

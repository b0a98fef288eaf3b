// The start indices of a gather or scatter, rewritten for an operand whose indexed dimensions are split.
#pragma once

#include "sharding/partition/region.h"

namespace shoal {

struct IndexedDim {
  int64_t component = 0;  // of the index vector
  int64_t global_size = 0;
  int64_t local_size = 0;
  AxisList axes;
};

struct LocalIndices {
  Instruction* indices = nullptr;
  // pred[the indices' shape without the index vector]: all indexed dimensions fall into this part. Only for
  // clamped indices.
  Instruction* inside = nullptr;
};

// Index minus where this part begins, along each of `dims`. `clamp` (gather): indices count as clamped to the
// array first, and `inside` is set. Otherwise (scatter) what is not in this part comes out of its range.
LocalIndices MakeLocalIndices(LocalBuilder& builder, Instruction* indices, int64_t index_vector_dim,
                              absl::Span<const IndexedDim> dims, bool clamp);

// Indices as a signed type, clamped to [0, high].
Instruction* ClampedIndex(LocalBuilder& builder, Instruction* index, int64_t high);

}  // namespace shoal

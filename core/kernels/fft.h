// FftPasses: a transform over the last dimensions of an array as a list of passes (fft_lines.h), made when a
// program is compiled.
//
// A long line, or one of few, is cut in two (n = n1 n2): transforms of n1 over the columns, roots, transforms
// of n2 over the rows, so that there are lines for all lanes and workers and each fits the cache.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/kernels/fft_lines.h"

namespace shoal {

enum class FftDirection : uint8_t { kForward, kInverse, kFromReal, kToReal };

struct FftProgram {
  std::vector<FftPass> passes;  // from buffer 0 to buffer 1; buffer 2 is the scratch
  int64_t scratch_bytes = 0;
};

// `dims` are the operand's, `lengths` those of the last dimensions: of the real array for both real kinds.
FftProgram FftPasses(FftDirection direction, bool wide, absl::Span<const int64_t> dims,
                     absl::Span<const int64_t> lengths);

}  // namespace shoal

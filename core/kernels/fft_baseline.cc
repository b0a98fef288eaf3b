#include "core/kernels/fft_lanes.h"

namespace shoal {

void RunFftPassBaseline(const FftPass& pass, char* const* buffers, int64_t begin, int64_t end) {
  RunPass<16>(pass, buffers, begin, end);
}

}  // namespace shoal

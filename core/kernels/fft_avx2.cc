#include "core/kernels/fft_lanes.h"

#if SHOAL_HAS_AVX2_SOURCES
namespace shoal {

void RunFftPassAvx2(const FftPass& pass, char* const* buffers, int64_t begin, int64_t end) {
  RunPass<32>(pass, buffers, begin, end);
}

}  // namespace shoal
#endif

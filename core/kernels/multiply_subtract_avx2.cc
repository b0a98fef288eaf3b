#include "core/kernels/multiply_subtract_lanes.h"

#if SHOAL_HAS_AVX2_SOURCES
namespace shoal {

void MultiplySubtractAvx2(const Product<float>& p) { Run<float, 8>(p); }
void MultiplySubtractAvx2(const Product<double>& p) { Run<double, 4>(p); }

}  // namespace shoal
#endif

#include "core/kernels/multiply_subtract_lanes.h"

namespace shoal {

void MultiplySubtractBaseline(const Product<float>& p) { Run<float, 4>(p); }
void MultiplySubtractBaseline(const Product<double>& p) { Run<double, 2>(p); }

}  // namespace shoal
